import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { keyOf, signedHere } from '../../support/clients/jwt.ts'
import { type Metrics, metricsOf, scraper } from '../../support/clients/metrics.ts'
import { begin } from '../../support/clients/transfers.ts'
import { addItem, contentOf } from '../../support/data/repository.ts'
import { engineIn, test, testOn } from '../../support/service/engines.ts'
import { adminOf, answerOf, bearer, open, times } from '../../support/service/nodes.ts'
import { passwordOf, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'
import { pipelineTo } from '../../support/service/workers.ts'

const ruth = 'ruth@example.org'

/** Starts a service whose metrics are read with the secret. */
async function start(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { ...scraper.env, ...env } })
  const metrics = () => metricsOf(service.address)
  /** An answer is counted when the connection has taken it, which can be after the client has received it. */
  const shows = (isShown: (metrics: Metrics) => boolean) => until(`metrics with ${isShown}`, metrics, isShown)
  return { service, metrics, shows }
}

test('D5 requests are counted by the pattern of their route, their method and the class of the status', async t => {
  const { service, metrics, shows } = await start(t)
  const ask = (path: string, init: RequestInit = {}) => fetch(service.address + path, init)
  for (let n = 0; n < 3; n++) await ask('/api/authn/status')
  await ask('/server/api/authn/status?page=1')
  await ask('/api/authn/status', { method: 'HEAD' })
  await ask('/api/authn/login', { method: 'POST' })
  await ask('/api/core/items/00000000-0000-4000-8000-000000000000')
  await ask('/api/query/v4/nothing')
  await ask('/nowhere')
  await ask('/%zz')
  await ask('/api/authn/status', { method: 'DELETE' })
  await ask('/nowhere', { method: 'PROPFIND' })
  const expected = [
    ['/api/authn/status', 'GET', '2xx', 4],
    ['/api/authn/status', 'HEAD', '2xx', 1],
    ['/api/authn/login', 'POST', '4xx', 1],
    ['/api/core/items/:uuid', 'GET', '4xx', 1],
    ['/api/query/v4/:entity', 'GET', '4xx', 1],
    ['other', 'GET', '4xx', 2],
    ['other', 'DELETE', '4xx', 1],
    ['other', 'other', '4xx', 1],
  ] as const
  const total = expected.reduce((sum, [, , , count]) => sum + count, 0)
  const notOwn = (name: string, found: Metrics) => found.of(name) - found.of(name, { route: '/metrics' })
  await shows(found => notOwn('carrel_http_requests_total', found) === total)
  const found = await metrics()
  for (const [route, method, status, count] of expected)
    assert.equal(
      found.of('carrel_http_requests_total', { route, method, status }),
      count,
      `${method} ${route}`,
    )
  for (const [route, method, , count] of expected) {
    const of = (part: string, labels = {}) =>
      found.of(`carrel_http_request_duration_seconds_${part}`, { route, method, ...labels })
    assert.equal(of('count'), count)
    assert.equal(of('bucket', { le: '+Inf' }), count)
    assert.ok(of('sum') > 0)
  }
  assert.equal(notOwn('carrel_http_requests_open', found), 0)
})

test('D5 a request whose client leaves is open until then, and counted once', async t => {
  const { service, shows } = await start(t)
  const token = await adminOf(service)
  const event = { ...commandEvent('login'), reason: 'x'.repeat(10_000) }
  for (let n = 0; n < 10; n++) await times(150, () => service.storage.trail.record(event))
  const route = '/api/query/v4/:entity'
  const listings = Array.from({ length: 3 }, () => open(service, '/api/query/v4/audit-events', token))
  await Promise.all(listings.map(answerOf))
  // A long listing of a table holds a connection or a cursor.
  await shows(found => found.of('carrel_listings_open') === 3)
  await shows(found => found.of('carrel_http_requests_open', { route }) === 3)
  const places = { queue: 'listings' }
  await shows(found => found.of('carrel_queue_running', places) === 3)
  for (const one of listings) one.destroy()
  await shows(found => found.of('carrel_listings_open') === 0)
  await shows(found => found.of('carrel_http_requests_open', { route }) === 0)
  await shows(found => found.of('carrel_queue_running', places) === 0)
  await shows(found => found.of('carrel_http_requests_total', { route, status: '2xx' }) === 3)
})

test('D5 open downloads are counted', async t => {
  const { service, shows } = await start(t)
  const content = Buffer.alloc(20_000_000, 'x')
  const { files } = await addItem(service, { identifier: 'test/1', files: [{ name: 'a', content }] })
  const url = service.address + contentOf(files.get('a') ?? { uuid: '' })
  const downloads = await times(2, () => begin(url))
  await shows(found => found.of('carrel_downloads_open') === 2)
  for (const one of downloads) one.destroy()
  await shows(found => found.of('carrel_downloads_open') === 0)
})

test('D5 10,000 different paths, methods, queries and names make no new series', async t => {
  const { service, metrics, shows } = await start(t)
  const warm = ['/nowhere', '/api/authn/status', '/api/query/v4/nothing', '/api/core/items/nothing']
  for (const path of warm) await fetch(service.address + path)
  await shows(found => warm.length <= found.of('carrel_http_requests_total') - 1)
  const before = new Set((await metrics()).series)
  const pipeline = pipelineTo(t, service.address)
  const total = 10_000
  for (let sent = 0; sent < total; sent += 500)
    await pipeline.ask(
      Array.from({ length: 500 }, (_, at) => {
        const n = sent + at
        const path = [
          `/path-${n}`,
          `/api/authn/status?n=${n}`,
          `/api/query/v4/entity${n}`,
          `/api/core/items/${n}`,
          `/a%22%7D%20${n}`,
        ][n % 5]
        return { path: path ?? '', headers: { 'x-n': `${n}`, 'user-agent': `agent ${n}` } }
      }),
    )
  for (let n = 0; n < 20; n++) await service.client().tryLogin(`person${n}@example.org`, 'wrong')
  await shows(found => found.of('carrel_http_requests_total', { route: 'other' }) > (2 * total) / 5)
  const after = (await metrics()).series
  const ofLogins = /route="\/api\/(authn\/login|security\/csrf)"/
  assert.deepEqual(
    after.filter(one => !before.has(one) && !ofLogins.test(one)),
    [],
  )
  assert.ok(after.length < 2_000, `${after.length} series`)
})

test('D5 logins are counted by method and outcome as in the audit trail', async t => {
  const { service, metrics } = await start(t)
  await service.addEperson(ruth)
  const client = service.client()
  for (let n = 0; n < 2; n++) assert.equal((await client.tryLogin(ruth, passwordOf(ruth))).status, 200)
  for (const [user, password] of [
    [ruth, 'wrong'],
    [ruth, 'wrong again'],
    ['nobody@example.org', 'wrong'],
  ] as const)
    assert.equal((await client.tryLogin(user, password)).status, 401)
  // A refresh doesn't count as a login.
  await client.login(ruth)
  await client.refresh()
  const found = await metrics()
  const logins = (outcome: string) => found.of('carrel_logins_total', { method: 'password', outcome })
  assert.equal(logins('success'), 3)
  assert.equal(logins('failure'), 3)
  assert.equal(found.of('carrel_logins_throttled_total', { method: 'password' }), 0)
  await until(
    'a wrong password that has to wait',
    async () => (await client.tryLogin(ruth, 'wrong')).status,
    status => status === 429,
  )
  assert.equal((await metrics()).of('carrel_logins_throttled_total', { method: 'password' }), 1)
})

test('D5 refused tokens are counted by reason', async t => {
  const { service, metrics } = await start(t)
  const { uuid } = await service.addEperson(ruth)
  await service.addEperson('gone@example.org')
  const client = service.client()
  const token = await client.login(ruth)
  const gone = await service.client().login('gone@example.org')
  await service.storage.people.setEnabled('gone@example.org', false, commandEvent('eperson.disable'))
  const expired = signedHere(JSON.stringify({ eid: uuid, sg: [], exp: 1 }), await keyOf(service, uuid))
  const status = async (path: string, authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization }
    const answer = await fetch(`${service.address}/api/authn/status${path}`, { headers })
    assert.equal(((await answer.json()) as { authenticated: boolean }).authenticated, false, path)
  }
  await status('', 'Bearer not-a-token')
  await status('', 'Basic cnV0aDpydXRo')
  await status('', `Bearer ${expired}`)
  await status('', `Bearer ${gone}`)
  await status('', `Bearer ${token.slice(0, -4)}AAAA`)
  await status(`?authentication-token=${token}`)
  // The logout has ended this token.
  await client.post('/api/authn/logout')
  await status('', `Bearer ${token}`)
  const found = await metrics()
  const refused = (kind: string, reason: string) => found.of('carrel_tokens_refused_total', { kind, reason })
  assert.deepEqual(
    ['malformed', 'expired', 'no-eperson', 'signature'].map(reason => refused('login', reason)),
    [2, 1, 1, 2],
  )
  assert.equal(refused('short-lived', 'signature'), 1)
  assert.equal(found.of('carrel_tokens_refused_total'), 7)
})

test('D5 the queue of passwords: what waited, for how long, and what was refused', async t => {
  const env = { ...scraper.env, CARREL_PASSWORD_CONCURRENCY: '1', CARREL_PASSWORD_QUEUE: '2' }
  const service = await startService(t, { env, realPasswords: true })
  const clients = Array.from({ length: 10 }, () => service.client())
  await Promise.all(clients.map(client => client.csrfPair()))
  const answers: Response[] = []
  const busy = await until(
    'a login that is refused, of ten at once',
    async () => {
      answers.push(...(await Promise.all(clients.map(client => client.tryLogin(ruth, 'wrong')))))
      return answers.filter(({ status }) => status === 503).length
    },
    count => count > 0,
  )
  const found = await metricsOf(service.address)
  const queue = { queue: 'passwords' }
  assert.equal(found.of('carrel_queue_refused_total', queue), busy)
  assert.equal(found.of('carrel_queue_wait_seconds_count', queue), answers.length - busy)
  assert.equal(found.of('carrel_queue_waiting', queue), 0)
  assert.equal(found.of('carrel_queue_running', queue), 0)
})

test('D5 the cache, the memory, the version and the delay of the event loop are shown', async t => {
  const { service, metrics, shows } = await start(t)
  assert.equal((await metrics()).of('carrel_cache_entries'), 0)
  await service.addRecords(
    'shelf',
    'id',
    Array.from({ length: 500 }, (_, id) => ({ id, title: `${id % 7}` })),
  )
  await fetch(`${service.address}/api/query/v4/shelf?limit=10&order_by=[{"field":"title"}]`)
  await shows(found => found.of('carrel_event_loop_delay_seconds_count', { worker: '0' }) > 0)
  const found = await metrics()
  assert.ok(found.of('carrel_cache_entries') >= 1)
  assert.ok(found.of('carrel_cache_bytes') >= 500)
  assert.equal(found.of('carrel_cache_max_bytes'), service.config.cacheSize)
  assert.ok(found.of('carrel_worker_heap_bytes', { worker: '0' }) > 1e6)
  assert.ok(found.of('process_resident_memory_bytes') > 1e7)
  assert.ok(found.of('process_cpu_seconds_total') > 0)
  assert.ok(Math.abs(found.of('process_start_time_seconds') - Date.now() / 1000) < 86_400)
  assert.equal(found.of('carrel_workers_running'), 1)
  const store = engineIn(t) === 'sqlite' ? 'embedded' : 'postgres'
  assert.equal(found.of('carrel_build_info', { store, node: process.versions.node }), 1)
})

testOn('sqlite', 'D5 the sizes of the store and of its write-ahead log are shown', async t => {
  const { service, metrics } = await start(t)
  await service.addEperson(ruth)
  await service.addRecords('shelf', 'id', [{ id: 1 }])
  const found = await metrics()
  const sizeOf = (name: string) => statSync(join(service.dataFolder, name)).size
  assert.equal(found.of('carrel_store_bytes', { part: 'database' }), sizeOf('carrel.db'))
  assert.equal(found.of('carrel_store_bytes', { part: 'wal' }), sizeOf('carrel.db-wal'))
  assert.ok(found.of('carrel_store_bytes', { part: 'wal' }) > 0)
  assert.ok(found.of('carrel_store_bytes', { part: 'entities' }) > 0)
})

testOn('postgres', 'D5 the connections to the database are shown', async t => {
  const { metrics } = await start(t, { CARREL_DATABASE_POOL_SIZE: '5' })
  const found = await metrics()
  for (const pool of ['accounts', 'pages', 'exposed'])
    assert.equal(found.of('carrel_database_connections_max', { pool }), 5, pool)
  const connections = (state: string) => found.of('carrel_database_connections', { pool: 'accounts', state })
  assert.ok(connections('used') + connections('idle') <= 5)
  assert.equal(found.of('carrel_database_waiting'), 0)
})

test('D5 reading the metrics leaves no cookie and no event, and takes GET only', async t => {
  const ui = 'https://ui.example.edu'
  const { service } = await start(t, { CARREL_ALLOWED_ORIGINS: ui })
  const token = await adminOf(service)
  const count = async () => {
    const events = await fetch(`${service.address}/api/query/v4/audit-events?limit=0&include_total=true`, {
      headers: bearer(token),
    })
    return Number(events.headers.get('x-records'))
  }
  const before = await count()
  const ask = (method: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${service.address}/metrics`, { method, headers: { ...scraper.headers, ...headers } })
  for (const origin of [ui, 'https://elsewhere.example']) {
    const answer = await ask('GET', { origin })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('access-control-allow-origin'), null)
    assert.deepEqual(answer.headers.getSetCookie(), [])
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4; charset=utf-8$/)
    const preflight = await ask('OPTIONS', { origin, 'access-control-request-method': 'GET' })
    assert.equal(preflight.status, 405)
    assert.equal(preflight.headers.get('access-control-allow-origin'), null)
  }
  for (const method of ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await ask(method)
    assert.equal(answer.status, 405, method)
    assert.equal(answer.headers.get('allow'), 'GET', method)
  }
  assert.equal(await count(), before)
  assert.ok(!(await (await fetch(`${service.address}/api`)).text()).includes('metrics'))
})

test('D5 D9 the size of the events that repeat is shown beside its limit', async t => {
  const { service, metrics } = await start(t)
  const { trail } = service.storage
  for (let at = 0; at < 5; at++)
    await trail.record({ ...commandEvent('download', `file ${at}`), session: at })
  const { bytes } = await trail.keepWithin(service.config.eventsSize)
  assert.ok(bytes > 5 * 200 && bytes < 5 * 1_000, `${bytes} bytes of five events`)
  const found = await until('the size', metrics, now => now.of('carrel_events_bytes') === bytes)
  assert.equal(found.of('carrel_events_max_bytes'), 2048 * 1024 ** 2)
  assert.equal(found.of('carrel_held_max_bytes'), 4096 * 1024 ** 2)
})
