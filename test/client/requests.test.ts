import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { CarrelNetworkError, CarrelProblem, createClient } from '../../packages/client/src/index.ts'
import { root, ruth, startClientWorld } from '../support/clients/carrel-client.ts'
import { test } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const csrf = '/api/security/csrf'

test('CL5 the CSRF pair is fetched when it is needed, once, and renewed by answers', async t => {
  const { line, open } = await startClientWorld(t)
  const client = open()
  const logins = [client.login(ruth, passwordOf(ruth)), client.login(ruth, passwordOf(ruth))]
  await Promise.all(logins)
  assert.equal(line.count('GET', csrf), 1)
  const pairs = () =>
    line.requests.filter(({ method }) => method === 'POST').map(({ headers }) => headers['x-xsrf-token'])
  const before = pairs().at(-1)
  await client.refresh()
  await client.post('/api/authn/shortlivedtokens')
  assert.notEqual(pairs().at(-1), before)
  assert.equal(line.count('GET', csrf), 1)
})

test('CL5 a pair that has become stale is replaced from the error, and the request repeated', async t => {
  const { line, openAs } = await startClientWorld(t)
  const client = await openAs(ruth)
  let spoilt = 0
  line.fault = ({ path, headers }) => {
    // The request has a stale pair, as after another tab received a new cookie.
    if (path !== '/api/authn/shortlivedtokens' || spoilt > 0) return undefined
    spoilt++
    headers['x-xsrf-token'] = 'stale'
    return undefined
  }
  const { token } = await client.post<{ token: string }>('/api/authn/shortlivedtokens')
  assert.match(token, /^ey/)
  assert.equal(line.count('POST', '/api/authn/shortlivedtokens'), 2)

  line.fault = ({ headers, method }) => {
    if (method === 'POST') headers['x-xsrf-token'] = 'always stale'
    return undefined
  }
  await assert.rejects(client.post('/api/authn/shortlivedtokens'), { code: 'csrf-mismatch', status: 403 })
})

test('CL5 another name of the header, and another query base, can be told', async t => {
  const { open, service } = await startClientWorld(t, {
    CARREL_CSRF_HEADER: 'Other-Xsrf',
    CARREL_QUERY_BASE: '/pdb/query/v4',
  })
  await service.addRecords('letters', 'id', [{ id: 1 }])
  const client = open({ csrfHeader: 'Other-Xsrf', queryBase: '/pdb/query/v4' })
  await client.login(ruth, passwordOf(ruth))
  assert.deepEqual(await client.entity('letters').query().all(), [{ id: 1 }])
})

test('CL5 a service under a path is reached there, and so are its links', async t => {
  const { line } = await startClientWorld(t, {
    CARREL_BASE_URL: 'https://repo.example.edu/server',
  })
  const client = createClient(`${line.address}/server/`, { shared: false })
  await client.login(ruth, passwordOf(ruth))
  const status = await client.get<{ _links: { eperson: { href: string } } }>('/api/authn/status')
  assert.match(status._links.eperson.href, /^https:\/\/repo\.example\.edu\/server\/api\/eperson/)
  const eperson = await client.get<{ email: string }>(status._links.eperson.href)
  assert.equal(eperson.email, ruth)
  assert.ok(line.requests.every(({ path }) => path.startsWith('/server/api/')))
})

test('CL6 a problem is an error with its code and members', async t => {
  const { openAs, service } = await startClientWorld(t)
  await service.addRecords('letters', 'id', [{ id: 1, year: 1813 }], 'eperson')
  const client = await openAs(ruth)
  await assert.rejects(
    client.get('/api/query/v4/letters', { query: { order_by: '[{"field":"yaer"}]' } }),
    error => {
      assert.ok(error instanceof CarrelProblem)
      assert.deepEqual([error.name, error.status, error.code], ['CarrelProblem', 400, 'bad-parameter'])
      assert.match(error.detail, /yaer/)
      assert.equal(error.message, error.detail)
      assert.deepEqual([error.members.parameter, error.members.nearest], ['order_by', 'year'])
      return true
    },
  )
  await assert.rejects(client.get('/api/nothing'), { code: 'not-found', status: 404 })
})

test('CL6 what answers in place of the service is a problem without a code', async t => {
  const { line, open } = await startClientWorld(t)
  for (const [body, type] of [
    ['<h1>Bad gateway</h1>', 'text/html'],
    ['{"broken', 'application/json'],
    ['null', 'application/json'],
  ] as const) {
    line.fault = () => ({ status: 502, headers: { 'content-type': type }, body })
    await assert.rejects(open().get('/api'), { name: 'CarrelProblem', status: 502, code: 'unknown' })
  }
})

test('CL6 a line that is down is another kind of error, and so is an answer that breaks off', async t => {
  const { line, open, service } = await startClientWorld(t)
  const records = Array.from({ length: 5_000 }, (_, id) => ({ id, text: 'x'.repeat(100) }))
  await service.addRecords('letters', 'id', records)
  const nobody = createClient('http://127.0.0.1:1')
  await assert.rejects(nobody.get('/api'), (error: unknown) => {
    assert.ok(error instanceof CarrelNetworkError && error.cause !== undefined)
    return true
  })
  line.fault = () => ({ answerBreaksAfter: 50_000 })
  let read = 0
  await assert.rejects(async () => {
    for await (const { id } of open().entity('letters').query()) assert.equal(id, read++)
  }, CarrelNetworkError)
  assert.ok(read > 0 && read < 5_000, `${read} records came whole`)
})

test('CL7 what may be repeated is, when the service says when', async t => {
  const { line, open } = await startClientWorld(t)
  const client = open()
  let left = 2
  const busy = (status: number, code: string) => ({
    status,
    headers: { 'retry-after': '0', 'content-type': 'application/problem+json' },
    body: JSON.stringify({ status, code, title: 'Busy', detail: 'Try again.' }),
  })
  line.fault = () => (left-- > 0 ? busy(503, 'store-unavailable') : undefined)
  assert.equal((await client.status()).authenticated, false)
  assert.equal(line.requests.length, 3)

  // The first answer doesn't say if anything was done; the other two do.
  for (const [status, code, times] of [
    [503, 'store-unavailable', 1],
    [503, 'busy', 3],
    [429, 'too-many-attempts', 3],
  ] as const) {
    left = 2
    line.requests.length = 0
    line.fault = ({ method }) => (method === 'POST' && left-- > 0 ? busy(status, code) : undefined)
    const outcome = await client.login(ruth, passwordOf(ruth)).then(
      () => 'logged in',
      (error: CarrelProblem) => error.code,
    )
    assert.deepEqual([code, outcome], [code, times === 3 ? 'logged in' : code])
    assert.equal(line.count('POST', '/api/authn/login'), times)
  }
})

test('CL7 repetitions have a bound, and long pauses are left to the caller', async t => {
  const { line, open } = await startClientWorld(t)
  const answer = (seconds?: string) => ({
    status: 503,
    ...(seconds === undefined ? {} : { headers: { 'retry-after': seconds } }),
  })
  for (const [seconds, times] of [
    ['0', 4],
    ['11', 1],
    [undefined, 1],
  ] as const) {
    line.requests.length = 0
    line.fault = () => answer(seconds)
    const expected = seconds === undefined ? {} : { retryAfter: Number(seconds) }
    await assert.rejects(open().get('/api'), { status: 503, ...expected })
    assert.equal(line.requests.length, times)
  }
})

test('CL7 a wrong password is answered at once, and a pause after many is told', async t => {
  const { open } = await startClientWorld(t)
  const client = open({ retries: { longest: 0 } })
  let wrong = 0
  // On a slow machine, the first pauses may be over before the next password is sent; each pause is twice as
  // long as the one before.
  const refusal = await until(
    'a wrong password that has to wait',
    () => client.login(root, 'wrong').catch((error: CarrelProblem) => error),
    error => {
      assert.ok(error instanceof CarrelProblem)
      if (error.code === 'login-failed') wrong++
      return error.code !== 'login-failed'
    },
  )
  assert.ok(wrong >= 10, String(wrong))
  assert.ok(refusal instanceof CarrelProblem)
  assert.deepEqual([refusal.status, refusal.code], [429, 'too-many-attempts'])
  assert.ok((refusal.retryAfter ?? 0) >= 1)
})

test('CL7 a signal ends a request, a pause and a listing, with its own reason', async t => {
  const { line, open, service } = await startClientWorld(t)
  await service.addRecords(
    'letters',
    'id',
    Array.from({ length: 3_000 }, (_, id) => ({ id })),
  )
  const client = open()
  const reason = new Error('no longer needed')
  const aborted = AbortSignal.abort(reason)
  await assert.rejects(client.get('/api', { signal: aborted }), reason)
  await assert.rejects(client.login(ruth, 'x', { signal: aborted }), reason)

  line.fault = () => ({ status: 503, headers: { 'retry-after': '9' } })
  const pausing = new AbortController()
  const waiting = client.get('/api', { signal: pausing.signal })
  await sleep(50)
  pausing.abort(reason)
  await assert.rejects(waiting, reason)

  line.fault = () => undefined
  const reading = new AbortController()
  await assert.rejects(async () => {
    for await (const { id } of client.entity('letters').query().stream(reading.signal))
      if (id === 10) reading.abort(reason)
  }, reason)
})

test('CL5 what stands in braces in a path is filled in, whatever characters it has', async t => {
  const { line, openAs } = await startClientWorld(t)
  const client = await openAs(root)
  const uuid = client.session?.eperson ?? ''
  const eperson = await client.get('/api/eperson/epersons/{uuid}', { path: { uuid } })
  assert.equal(eperson.email, root)
  await assert.rejects(client.get('/api/eperson/epersons/{uuid}', { path: { uuid: '../a b?c' } }), {
    name: 'CarrelProblem',
  })
  assert.equal(line.requests.at(-1)?.path, '/api/eperson/epersons/..%2Fa%20b%3Fc')
  const groups = client.list('/api/eperson/epersons/{uuid}/groups', { path: { uuid } })
  for await (const { name } of groups) assert.equal(name, 'Administrator')
})
