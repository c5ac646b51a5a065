import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { TestContext } from 'node:test'
import { Client } from '../../support/clients/client.ts'
import { openSocket } from '../../support/clients/raw.ts'
import { allEvents } from '../../support/data/events.ts'
import { tamper, verify, withStorage } from '../../support/data/trail.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { serve } from '../../support/service/process.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'
import { connectionsTo } from '../../support/service/workers.ts'

const ruth = 'ruth@example.org'
const trace = '0af7651916cd43dd8448eb211c80319c'

const idOf = ({ headers }: Response): string => headers.get('x-request-id') ?? ''

testOn(
  'sqlite',
  'W3 an id that a request is sent with is taken, if it is a short one of plain characters',
  async t => {
    const { address } = await startService(t)
    const answered = async (headers: Readonly<Record<string, string>>) =>
      idOf(await fetch(`${address}/health/live`, { headers }))
    for (const sent of ['a', 'f3c9:7.b_1-2@x+/=', 'x'.repeat(128)])
      assert.equal(await answered({ 'x-request-id': sent }), sent)
    assert.equal(await answered({ traceparent: `00-${trace}-b7ad6b7169203331-01` }), trace)
    assert.equal(await answered({ traceparent: `01-${trace}-b7ad6b7169203331-01-more` }), trace)
    assert.equal(await answered({ 'x-request-id': 'a', traceparent: `00-${trace}-b7ad6b7169203331-01` }), 'a')
    const made = new Set<string>()
    for (const headers of [
      {},
      { 'x-request-id': '' },
      { 'x-request-id': 'x'.repeat(129) },
      { 'x-request-id': 'a b' },
      { 'x-request-id': 'a"b' },
      { 'x-request-id': '<b>' },
      { 'x-request-id': 'a, b' },
      { traceparent: trace },
      { traceparent: `00-${trace}-b7ad6b7169203331` },
      { traceparent: `00-${trace}-b7ad6b7169203331-01-more` },
      { traceparent: `00-${trace}-0000000000000000-01` },
      { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` },
      { traceparent: `ff-${trace}-b7ad6b7169203331-01` },
      { traceparent: `00-${trace.toUpperCase()}-b7ad6b7169203331-01` },
    ] as Readonly<Record<string, string>>[]) {
      const id = await answered(headers)
      assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, JSON.stringify(headers))
      made.add(id)
    }
    assert.equal(made.size, 14, 'each has its own')
  },
)

testOn('sqlite', 'W3 every answer has an id, and every problem names it', async t => {
  const service = await startService(t, { env: { CARREL_ALLOWED_ORIGINS: 'https://ui.example.edu' } })
  await service.addRecords('letters', 'id', [{ id: 1 }])
  const { address } = service
  const origin = { origin: 'https://ui.example.edu' }
  const listed = await fetch(`${address}/api/query/v4/letters`, { headers: origin })
  assert.match(listed.headers.get('access-control-expose-headers') ?? '', /\bX-Request-Id\b/)
  const etag = listed.headers.get('etag') ?? ''
  const preflight = await fetch(`${address}/api`, {
    method: 'OPTIONS',
    headers: { ...origin, 'access-control-request-method': 'GET' },
  })
  assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /\bX-Request-Id, traceparent\b/)
  const answers = [
    listed,
    preflight,
    await fetch(`${address}/api/query/v4/letters`, { method: 'HEAD' }),
    await fetch(`${address}/api/query/v4/letters`, { headers: { 'if-none-match': etag } }),
    await fetch(`${address}/api/query/v4/letters/changes`, { headers: { accept: 'text/event-stream' } }),
    await fetch(`${address}/console/`),
    await fetch(`${address}/api/none`),
    await fetch(`${address}/api/%ZZ`),
    await fetch(`${address}/api`, { headers: { origin: 'https://evil.example' } }),
    await fetch(`${address}/api/authn/login`, { method: 'POST' }),
    await fetch(`${address}/api/query/v4/letters?query=x`),
  ]
  assert.deepEqual(answers[3]?.status, 304)
  for (const one of answers) {
    assert.notEqual(idOf(one), '', `${one.status} ${one.url}`)
    if (one.headers.get('content-type') === 'application/problem+json')
      assert.equal(((await one.json()) as { requestId: string }).requestId, idOf(one), one.url)
    else await one.body?.cancel()
  }
  assert.equal(new Set(answers.map(idOf)).size, answers.length)
  const page = await fetch(`${address}/api/none`, { headers: { accept: 'text/html' } })
  assert.ok((await page.text()).includes(idOf(page)))

  const socket = openSocket(address)
  socket.write('GET / nonsense\r\n\r\n')
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  await once(socket, 'close')
  const [, id] = /\r\nx-request-id: (\S+)\r\n/.exec(text) ?? []
  assert.ok(id && text.includes(`"requestId":"${id}"`), text)
})

testOn(
  'sqlite',
  'W3 each line of a request in the log has its id, and one says who asked, and what was sent',
  async t => {
    const dataFolder = temporaryFolder(t)
    const service = await startService(t, { dataFolder })
    const { uuid } = await service.addEperson(ruth)
    await service.addRecords('letters', 'id', [{ id: 1, text: 'x'.repeat(10_000) }])
    await service.stop()
    const env = { CARREL_LOG_LEVEL: 'info', CARREL_TRUSTED_PROXIES: '127.0.0.1', CARREL_WORKERS: '2' }
    const served = await serve(t, dataFolder, { env })
    const client = new Client(served.address)
    await client.login(ruth)
    const headers = {
      authorization: `Bearer ${client.token}`,
      'x-request-id': 'one-listing',
      'x-forwarded-for': '192.0.2.7',
    }
    const response = await fetch(`${served.address}/api/query/v4/letters?query=`, { headers })
    await response.text()
    const lineOf = (id: string) =>
      served.output.stdout
        .split('\n')
        .filter(line => line.includes(`"request":"${id}"`))
        .map(line => JSON.parse(line) as Record<string, unknown>)
    const [line] = await until(
      'the line of the request',
      () => lineOf('one-listing'),
      lines => lines.length > 0,
    )
    const { method, path, status, ms, bytes, client: from, eperson, msg } = line ?? {}
    assert.deepEqual(
      [method, path, from, eperson, msg],
      ['GET', '/api/query/v4/letters', '192.0.2.7', uuid, 'request'],
    )
    assert.equal(status, response.status)
    assert.equal(typeof ms, 'number')
    assert.ok(Number(bytes) > 100 && Number(bytes) < 20_000, `${bytes}`)
    // The second answer of a connection is counted by itself.
    const [one] = connectionsTo(t, served.address, 1)
    for (const id of ['first', 'second'])
      await one?.ask('/api/query/v4/letters', { headers: { 'x-request-id': id } })
    const sizes = await until(
      'both lines',
      () => ['first', 'second'].flatMap(lineOf).map(found => Number(found.bytes)),
      found => found.length === 2,
    )
    assert.ok(
      sizes.every(size => size > 10_000 && size < 11_500),
      `${sizes}`,
    )
    assert.equal(await served.stop(), 0)
  },
)

const administered = async (t: TestContext) => {
  const service = await startService(t)
  await service.addEperson('admin@example.org', { admin: true })
  const admin = service.client()
  return { service, admin }
}

test('D9 W3 an event has the id of its request, and can be found by it; commands and counts have none', async t => {
  const { service, admin } = await administered(t)
  await admin.csrfPair()
  const { cookie, value } = await admin.csrfPair()
  const login = (user: string, password: string, id: string) =>
    fetch(`${service.address}/api/authn/login`, {
      method: 'POST',
      headers: { cookie, 'x-xsrf-token': value, 'x-request-id': id },
      body: new URLSearchParams({ user, password }),
    })
  assert.equal((await login('admin@example.org', 'secret of admin@example.org', 'the-login')).status, 200)
  for (let n = 0; n < 5; n++) assert.equal((await login('nobody@example.org', 'x', `wrong-${n}`)).status, 401)
  await admin.login('admin@example.org')
  const found = await admin.get(
    `/api/query/v4/audit-events?query=${encodeURIComponent('["=","request","the-login"]')}`,
  )
  const [event, ...more] = (await found.json()) as { event: string; request: string }[]
  assert.deepEqual([event?.event, event?.request, more.length], ['login', 'the-login', 0])
  const events = await allEvents(admin)
  assert.deepEqual(
    events.filter(one => one.event === 'eperson.add').map(({ request }) => request),
    [null],
  )
  // Ids don't tell failures apart: a client could fill the trail with ids of its own.
  const failures = events.filter(({ outcome }) => outcome === 'failure')
  assert.deepEqual(
    failures.map(({ request }) => request),
    ['wrong-0'],
  )
  const { dataFolder } = service
  await service.stop()
  await withStorage(dataFolder, async storage => {
    assert.deepEqual((await verify(storage)).faults, [])
    const rows = await tamper<{ request: string | null; count: number }>(
      dataFolder,
      "SELECT request, count FROM event WHERE outcome = 'failure' ORDER BY id",
    )
    assert.deepEqual(
      rows.map(({ request, count }) => [request, Number(count)]),
      [
        ['wrong-0', 1],
        [null, 4],
      ],
    )
  })
})

for (const [how, sql] of [
  ['taken away', 'UPDATE event SET request = NULL WHERE request IS NOT NULL'],
  ['changed', "UPDATE event SET request = 'another' WHERE request IS NOT NULL"],
  ['moved to another field', 'UPDATE event SET repeats = request, request = NULL WHERE request IS NOT NULL'],
  ['added', "UPDATE event SET request = 'another' WHERE request IS NULL"],
] as const)
  test(`D9 an id of a request that is ${how} is found`, async t => {
    const { service, admin } = await administered(t)
    await admin.login('admin@example.org')
    const { dataFolder } = service
    await service.stop()
    await tamper(dataFolder, sql)
    await withStorage(dataFolder, async storage => {
      const { faults } = await verify(storage)
      assert.ok(
        faults.some(({ problem }) => problem === 'it was changed, inserted or moved'),
        JSON.stringify(faults),
      )
    })
  })

testOn(
  'sqlite',
  'W3 clients that reset their connections are logged without an address, and end nothing',
  async t => {
    const dataFolder = temporaryFolder(t)
    const service = await startService(t, { dataFolder })
    await service.addRecords('letters', 'id', [{ id: 1 }])
    await service.stop()
    const served = await serve(t, dataFolder, { env: { CARREL_LOG_LEVEL: 'info', CARREL_WORKERS: '1' } })
    const { port } = new URL(served.address)
    const gone = () => served.output.stdout.split('\n').filter(line => line.includes('"client":null'))
    // A reset is seen by the service while the request is handled, or not: it is tried until it was.
    await until(
      'a request whose client has gone',
      async () => {
        const socket = connect(Number(port), '127.0.0.1')
        socket.on('error', () => {})
        await once(socket, 'connect')
        socket.write('GET /api/query/v4/letters HTTP/1.1\r\nHost: localhost\r\n\r\n', () =>
          socket.resetAndDestroy(),
        )
        await once(socket, 'close')
        return gone()
      },
      lines => lines.length > 3,
    )
    assert.equal((await fetch(`${served.address}/health/ready`)).status, 200)
    assert.doesNotMatch(served.output.stdout, /internal-error|"level":[56]0/)
  },
)
