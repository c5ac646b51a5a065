import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertProblem, assertUnauthorized, pairOf } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { base64url, derivedKey, secretsOf } from '../../support/clients/jwt.ts'
import { addItem, membersOf } from '../../support/data/repository.ts'
import { repeats } from '../../support/scale.ts'
import { test, testOn, testOnOne } from '../../support/service/engines.ts'
import { baseUrl, passwordOf, type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const email = 'ruth@example.org'
const cookieName = 'DSPACE-XSRF-COOKIE'

interface Pair {
  readonly cookie?: string
  readonly value?: string
}

/** Sends a POST with exactly this pair, which may be incomplete. */
function postWith(
  service: Service,
  { cookie, value }: Pair,
  path = '/api/authn/login',
  init: RequestInit = {},
) {
  const headers = new Headers(init.headers)
  if (cookie !== undefined) headers.set('cookie', cookie)
  if (value !== undefined) headers.set('x-xsrf-token', value)
  return fetch(service.address + path, { ...init, method: 'POST', headers })
}

const credentials = () => new URLSearchParams({ user: email, password: passwordOf(email) })

test('C1 every POST, and every PATCH that something takes, needs a valid CSRF token', async t => {
  const service = await startService(t)
  await service.addEperson(email)
  const client = service.client()
  const authorization = `Bearer ${await client.login(email)}`
  for (const path of [
    '/api/authn/login',
    '/api/authn/logout',
    '/api/authn/shortlivedtokens',
    '/server/api/authn/login',
  ])
    await assertProblem(
      await postWith(service, {}, path, { headers: { authorization } }),
      403,
      'csrf-cookie-missing',
    )
  assert.equal(await client.isLoggedIn(), true, 'the logout without CSRF token did nothing')
  for (const prefix of ['/api', '/server/api']) {
    const path = `${service.address}${prefix}/eperson/epersons/x`
    const patch = await fetch(path, { method: 'PATCH', headers: { authorization } })
    await assertProblem(patch, 403, 'csrf-cookie-missing')
  }
})

test('C2 over http the cookie is HttpOnly, of the session, SameSite=Lax and for the path in use', async t => {
  const service = await startService(t)
  for (const [path, cookiePath] of [
    ['/api/security/csrf', '/api'],
    ['/server/api/security/csrf', '/server/api'],
    ['/api/authn/status', '/api'],
    ['/server/api/authn/status', '/server/api'],
  ] as const) {
    const pair = pairOf(await service.client().get(path))
    assert.equal(pair?.attributes, `Path=${cookiePath}; HttpOnly; SameSite=Lax`, path)
  }
})

test('C2 over https the cookie is Secure and SameSite=None', async t => {
  const service = await startService(t, { env: { CARREL_BASE_URL: 'https://repo.example.edu/rest' } })
  const pair = pairOf(await service.client().get('/rest/api/security/csrf'))
  assert.equal(pair?.attributes, 'Path=/rest/api; Secure; HttpOnly; SameSite=None')
})

test('C2 names of cookie and header are configurable', async t => {
  const env = { CARREL_CSRF_COOKIE: 'MY-COOKIE', CARREL_CSRF_HEADER: 'My-Header' }
  const service = await startService(t, { env })
  const answer = await service.client().get('/api/security/csrf')
  const value = answer.headers.get('my-header')
  assert.ok(value)
  assert.deepEqual(answer.headers.getSetCookie(), [`MY-COOKIE=${value}; Path=/api; HttpOnly; SameSite=Lax`])
  assert.equal(answer.headers.get('dspace-xsrf-token'), null)
  const logout = await postWith(service, { cookie: `MY-COOKIE=${value}`, value }, '/api/authn/logout')
  assert.equal(logout.status, 204)
})

test('C3 GET /api/security/csrf hands out a fresh pair each time, 204 without a body', async t => {
  const service = await startService(t)
  const client = service.client()
  const values = new Set<string | undefined>()
  const rounds = repeats(50, 300)
  for (let round = 0; round < rounds; round++) {
    const answer = await client.get('/api/security/csrf')
    assert.equal(answer.status, 204)
    assert.equal(await answer.text(), '')
    values.add(pairOf(answer)?.value)
  }
  assert.equal(values.size, rounds)
  assert.ok(!values.has(undefined))
})

test('C3 any safe request that arrives without the cookie gets both, one that has it gets none', async t => {
  const service = await startService(t)
  const { cookie } = await service.client().csrfPair()
  for (const path of [
    '/api',
    '/api/authn',
    '/api/authn/status',
    '/api/query/v4',
    '/api/nothing',
    '/server/api',
  ])
    for (const method of ['GET', 'HEAD']) {
      const without = await fetch(service.address + path, {
        method,
        headers: { cookie: `other=1; X${cookie}` },
      })
      assert.ok(pairOf(without), `${method} ${path}`)
      const withCookie = await fetch(service.address + path, {
        method,
        headers: { cookie: `other=1; ${cookie}` },
      })
      assert.equal(pairOf(withCookie), undefined, `${method} ${path}`)
    }
})

test('C4 the four ways to be wrong are told apart and the fresh pair of the answer works at once', async t => {
  const service = await startService(t)
  await service.addEperson(email)
  const { cookie, value } = await service.client().csrfPair()
  const other = await service.client().csrfPair()
  const foreign = randomBytes(64).toString('base64url')
  const wrong: readonly (readonly [code: string, pair: Pair])[] = [
    ['csrf-cookie-missing', {}],
    ['csrf-cookie-missing', { value }],
    ['csrf-header-missing', { cookie }],
    ['csrf-header-missing', { cookie, value: '' }],
    ['csrf-mismatch', { cookie, value: other.value }],
    ['csrf-mismatch', { cookie, value: value.toLowerCase() }],
    ['csrf-not-ours', { cookie: `${cookieName}=${foreign}`, value: foreign }],
  ]
  for (const [code, pair] of wrong) {
    const refused = await postWith(service, pair, '/api/authn/login', { body: credentials() })
    const problem = await assertProblem(refused, 403, code)
    assert.equal(problem.type, `${baseUrl}/api/problems/${code}`)
    assert.match(problem.message, /CSRF token/)
    assert.equal(refused.headers.get('authorization'), null)

    const fresh = pairOf(refused)
    assert.ok(fresh && fresh.value !== value)
    const repeated = await postWith(service, fresh, '/api/authn/login', { body: credentials() })
    assert.equal(repeated.status, 200, code)
  }
})

test('C4 of several cookies of the name, as two paths give them, one must match', async t => {
  const service = await startService(t)
  const { cookie, value } = await service.client().csrfPair()
  const stale = await service.client().csrfPair()
  for (const both of [`${stale.cookie}; ${cookie}`, `${cookie};${stale.cookie}`])
    assert.equal((await postWith(service, { cookie: both, value }, '/api/authn/logout')).status, 204)
})

test('C8 Q15 a POST to the query base needs no pair', async t => {
  const service = await startService(t, { env: { CARREL_QUERY_BASE: '/pdb/query/v4' } })
  const json = { headers: { 'content-type': 'application/json' }, body: '{}' }
  const odd = { headers: { 'content-type': 'application/x-odd' }, body: 'x'.repeat(17_000) }
  for (const prefix of ['', '/server']) {
    for (const init of [{}, json]) {
      const post = (path: string) => postWith(service, {}, `${prefix}/pdb/query/v4${path}`, init)
      for (const path of ['', '/', '/items']) assert.equal((await post(path)).status, 200, path)
      await assertProblem(await post('/epersons'), 401, 'authentication-required')
      await assertProblem(await post('/nothing?x=1'), 404, 'unknown-entity')
      const deep = await post('/epersons/x')
      assert.equal(deep.headers.get('allow'), 'GET, HEAD, PUT, PATCH, DELETE')
      await assertProblem(deep, 405, 'method-not-allowed')
    }
    for (const path of ['', '/items'])
      await assertProblem(
        await postWith(service, {}, `${prefix}/pdb/query/v4${path}`, odd),
        415,
        'unsupported-media-type',
      )
  }
  for (const path of ['/pdb/query/v44', '/pdb/query', '/pdb/query/v4%2F../login', '/api/query/v4'])
    await assertProblem(await postWith(service, {}, path), 403, 'csrf-cookie-missing')
  const elsewhere = { headers: { origin: 'https://evil.example' } }
  await assertProblem(await postWith(service, {}, '/pdb/query/v4', elsewhere), 403, 'origin-not-allowed')
})

test('C8 no cookie authenticates a request to the query base', async t => {
  const service = await startService(t)
  await service.addEperson(email, { groups: ['Readers'] })
  const readers = membersOf('Readers')
  const { files } = await addItem(service, { identifier: 'x/1', files: [{ name: 'closed', readers }] })
  const client = service.client()
  const token = await client.login(email)
  const content = `/api/core/bitstreams/${files.get('closed')?.uuid}/content`
  const [lease = ''] = (await client.get(content)).headers.getSetCookie()
  const { cookie: csrf } = await client.csrfPair()
  const leased = lease.split(';')[0] ?? ''
  assert.match(leased, /^CARREL-LEASE=/)
  const stranger = service.client()
  assert.equal(
    (await stranger.get(content, { cookie: leased })).status,
    200,
    'the cookie is good for the file',
  )
  const all = [
    leased,
    csrf,
    `Authorization=Bearer ${token}`,
    `authentication-token=${token}`,
    `dsAuthInfo=${token}`,
  ]
  const path = '/api/query/v4/bitstreams?include_total=true'
  for (const cookie of [leased, all.join('; ')]) {
    const answer = await stranger.get(path, { cookie })
    assert.deepEqual([answer.headers.get('x-records'), await answer.json()], ['0', []])
    await assertUnauthorized(await stranger.get('/api/query/v4/audit-events', { cookie }))
  }
  assert.equal((await client.get(path)).headers.get('x-records'), '1')
})

test('C5 the check comes before the password, 404, 405, 413 and 415', async t => {
  const service = await startService(t)
  await service.addEperson(email)
  const text = { headers: { 'content-type': 'text/plain' }, body: 'x' }
  const large = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'x'.repeat(17_000) }
  const wrongPassword = { body: new URLSearchParams({ user: email, password: 'wrong' }) }
  const cases: readonly (readonly [path: string, status: number, init?: RequestInit])[] = [
    ['/api/authn/login', 401, wrongPassword],
    ['/api/nothing', 404],
    ['/nothing', 404],
    ['/api/authn/status', 405],
    ['/api/core/sites', 405],
    ['/api/authn/login', 413, large],
    ['/api/authn/login', 415, text],
    ['/api/authn/login?authentication-token=x', 403],
    ['/api/authn/shortlivedtokens', 401],
  ]
  for (const [path, status, init] of cases) {
    await assertProblem(await postWith(service, {}, path, init), 403, 'csrf-cookie-missing')
    const pair = await service.client().csrfPair()
    assert.equal((await postWith(service, pair, path, init)).status, status, path)
  }
})

test('C5 the check comes before X-On-Behalf-Of and after CORS', async t => {
  const service = await startService(t)
  const malformed = { headers: { 'x-on-behalf-of': 'nobody' } }
  await assertProblem(
    await postWith(service, {}, '/api/authn/shortlivedtokens', malformed),
    403,
    'csrf-cookie-missing',
  )
  const elsewhere = { headers: { origin: 'https://evil.example' } }
  await assertProblem(await postWith(service, {}, '/api/authn/login', elsewhere), 403, 'origin-not-allowed')
})

test('C6 login, refresh and logout hand out a new pair, shortlivedtokens does not', async t => {
  const service = await startService(t)
  await service.addEperson(email)
  const client = service.client()
  const seen = new Set([(await client.csrfPair()).value])
  const assertNewPair = (response: Response, status: number) => {
    assert.equal(response.status, status)
    const pair = pairOf(response)
    assert.ok(pair && !seen.has(pair.value))
    seen.add(pair.value)
  }
  const login = await client.tryLogin(email, passwordOf(email))
  assertNewPair(login, 200)
  client.token = bearerOf(login)
  assertNewPair(await client.post('/api/authn/login'), 200)

  const short = await client.post('/api/authn/shortlivedtokens')
  assert.equal(short.status, 200)
  assert.equal(pairOf(short), undefined)
  assertNewPair(await client.post('/api/authn/logout'), 204)
  client.token = undefined
  assertNewPair(await client.post('/api/authn/logout'), 204)
})

test('C6 a pair may be used again after another was handed out', async t => {
  const service = await startService(t)
  const pair = await service.client().csrfPair()
  for (let round = 0; round < 3; round++)
    assert.equal((await postWith(service, pair, '/api/authn/logout')).status, 204)
})

test('C7 the value is 256 bits and their HMAC, as documented', async t => {
  const service = await startService(t)
  const { value } = await service.client().csrfPair()
  const bytes = Buffer.from(value, 'base64url')
  assert.equal(bytes.length, 64)
  const [secret] = await secretsOf(service.dataFolder)
  assert.ok(secret)
  const mac = createHmac('sha256', derivedKey(secret, 'csrf')).update(bytes.subarray(0, 32)).digest()
  assert.deepEqual(bytes.subarray(32), mac)
})

test('C7 a value that was changed anywhere or is spelled otherwise is not ours', async t => {
  const service = await startService(t)
  const { value } = await service.client().csrfPair()
  const bytes = Buffer.from(value, 'base64url')
  const flipped = [0, 31, 32, 63].map(at => {
    const copy = Buffer.from(bytes)
    copy[at] = (copy[at] ?? 0) ^ 1
    return base64url(copy)
  })
  const [secret = Buffer.alloc(0)] = await secretsOf(service.dataFolder)
  const random = bytes.subarray(0, 32)
  const otherPurpose = createHmac('sha256', secret).update(random).digest()
  for (const wrong of [
    ...flipped,
    value.slice(0, -1),
    value.slice(0, 43),
    `${value}A`,
    `${value}=`,
    `${value}==`,
    `~${value}`,
    base64url(random),
    base64url(Buffer.concat([random, otherPurpose])),
    'x',
    '=',
    'undefined',
    'A'.repeat(9_000),
  ])
    await assertProblem(
      await postWith(service, { cookie: `${cookieName}=${wrong}`, value: wrong }),
      403,
      'csrf-not-ours',
    )
})

test('C7 another service with the same secret accepts the pair, one with another secret does not', async t => {
  const env = { CARREL_TOKEN_SECRET: 'a secret of more than 32 characters' }
  const [one, same] = [await startService(t, { env }), await startService(t, { env })]
  const stranger = await startService(t)
  const pair = await one.client().csrfPair()
  assert.equal((await postWith(same, pair, '/api/authn/logout')).status, 204)
  await assertProblem(await postWith(stranger, pair, '/api/authn/logout'), 403, 'csrf-not-ours')
})

testOn('sqlite', 'C7 T7 a pair and a token that were used end with the secret that made them', async t => {
  const service = await startService(t)
  await service.addEperson(email)
  const client = service.client()
  const token = await client.login(email)
  const pair = await client.csrfPair()
  const isOurs = async () => (await postWith(service, pair, '/api/authn/logout')).status === 204
  assert.deepEqual([await isOurs(), await client.isLoggedIn(token)], [true, true])
  const now = { secret: randomBytes(32), made: new Date() }
  const file = join(service.dataFolder, 'secret')
  writeFileSync(file, `${now.secret.toString('base64url')} ${now.made.toISOString()}\n`)
  await until('the pair is refused', async () => !(await isOurs()))
  assert.equal(await client.isLoggedIn(token), false)
  await assertProblem(await postWith(service, pair, '/api/authn/logout'), 403, 'csrf-not-ours')
})

testOnOne('C7 more pairs than are remembered stay valid, and no other becomes so', async t => {
  const service = await startService(t)
  const pairs = await Promise.all(Array.from({ length: 1_001 }, () => service.client().csrfPair()))
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(pairs.map(pair => postWith(service, pair, '/api/authn/logout')))
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [204])
  }
  const value = `${pairs[0]?.value?.slice(0, -2)}AA`
  const forged = { cookie: `${cookieName}=${value}`, value }
  for (let n = 0; n < 2; n++)
    await assertProblem(await postWith(service, forged, '/api/authn/logout'), 403, 'csrf-not-ours')
})

test('C7 a pair survives a restart', async t => {
  const service = await startService(t)
  const pair = await service.client().csrfPair()
  await service.stop()
  const again = await startService(t, { dataFolder: service.dataFolder })
  assert.equal((await postWith(again, pair, '/api/authn/logout')).status, 204)
})

test('C4 where a proxy has changed the path, the message about a missing cookie names it as the cause', async t => {
  const service = await startService(t, { env: { CARREL_BASE_URL: 'https://localhost/repo' } })
  for (const [path, names] of [
    ['/api/authn/login', true],
    ['/server/api/authn/login', true],
    ['/repo/api/authn/login', false],
  ] as const) {
    const { message } = (await (await postWith(service, { value: 'x' }, path)).json()) as { message: string }
    assert.match(message, /cookie DSPACE-XSRF-COOKIE is missing/)
    assert.equal(/CARREL_BASE_URL has the path \/repo: .*proxy/.test(message), names, `${path}: ${message}`)
  }
})
