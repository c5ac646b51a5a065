import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { type ProblemCode, problems } from '../../src/http/problems.ts'
import { exchange, head, type RawAnswer } from '../support/clients/raw.ts'
import { contentOf, everybody, putItem } from '../support/data/repository.ts'
import { atEnd } from '../support/service/at-end.ts'
import { databaseOf, hideDatabase, runSqlIn, test, testOn } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import {
  baseUrl,
  passwordOf,
  type Service,
  startService,
  temporaryFolder,
} from '../support/service/service.ts'

interface Body {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: ProblemCode
  readonly detail: string
  readonly message: string
  readonly path: string
  readonly id?: string
}

/** What must never be in an answer: stacks, places in the code, SQL, hashes. */
const leaks =
  /\n\s+at |node:internal|\.ts:\d|\.js:\d|node_modules|\/src\/|\b(SELECT|INSERT|UPDATE|DELETE) .*\b(FROM|INTO|SET)\b|sqlite|postgres|argon2|eyJ[\w-]/i

/** RFC 9457 §3, and what E1 adds to it. */
function assertShape(text: string, contentType: string | null | undefined, expected: Expected): Body {
  const { code, path } = expected
  assert.match(contentType ?? '', /^application\/problem\+json\b/, `${contentType}: ${text}`)
  const body = JSON.parse(text) as Body
  const { status, title } = problems[code]
  assert.equal(body.code, code, text)
  assert.equal(body.status, status)
  assert.equal(body.title, title)
  assert.equal(body.type, `${baseUrl}/api/problems/${code}`)
  assert.ok(body.detail.length > 10, 'the detail says what is wrong')
  assert.equal(body.message, body.detail)
  assert.equal(body.path, path)
  assert.doesNotMatch(text, leaks)
  for (const secret of expected.never ?? []) assert.ok(!text.includes(secret), 'a secret is in the body')
  return body
}

interface Expected {
  readonly code: ProblemCode
  readonly path: string
  readonly never?: readonly string[]
}

async function assertProblem(response: Response, expected: Expected): Promise<Body> {
  assert.equal(response.status, problems[expected.code].status, await response.clone().text())
  return assertShape(await response.text(), response.headers.get('content-type'), expected)
}

function assertRawProblem(answer: RawAnswer | undefined, expected: Expected): Body {
  assert.ok(answer, 'there is an answer')
  assert.equal(answer.status, problems[expected.code].status, answer.body)
  return assertShape(answer.body, answer.headers.get('content-type'), expected)
}

const form = (user: string, password: string) => new URLSearchParams({ user, password })
const ruth = 'ruth@example.org'
const admin = 'admin@example.org'
const nobody = '00000000-0000-4000-8000-000000000000'

async function loggedIn(service: Service, email: string) {
  const client = service.client()
  await client.login(email)
  return client
}

/** Every entry of the catalogue that a single request can provoke, each on a real route. */
const provoked: Partial<Record<ProblemCode, (service: Service) => Promise<[Response, Expected]>>> = {
  'bad-request': async service => [
    await service.client().post('/api/authn/login', 'user=%zz&password=verysecret', {
      'content-type': 'application/x-www-form-urlencoded',
    }),
    { code: 'bad-request', path: '/api/authn/login', never: ['verysecret'] },
  ],
  'bad-parameter': async service => [
    await service.client().get('/api/query/v4/letters?limit=0'),
    { code: 'bad-parameter', path: '/api/query/v4/letters' },
  ],
  'bad-on-behalf-of': async service => [
    await (await loggedIn(service, admin)).get('/api/authn/status', { 'x-on-behalf-of': nobody }),
    { code: 'bad-on-behalf-of', path: '/api/authn/status' },
  ],
  'login-failed': async service => [
    await service.client().post('/api/authn/login', form(ruth, 'wrong-verysecret')),
    { code: 'login-failed', path: '/api/authn/login', never: ['verysecret', ruth] },
  ],
  'authentication-required': async service => [
    await service.client().post('/api/authn/shortlivedtokens'),
    { code: 'authentication-required', path: '/api/authn/shortlivedtokens' },
  ],
  'csrf-cookie-missing': async service => [
    await fetch(`${service.address}/api/authn/login`, { method: 'POST', headers: { 'x-xsrf-token': 'x' } }),
    { code: 'csrf-cookie-missing', path: '/api/authn/login' },
  ],
  'csrf-header-missing': async service => {
    const { cookie, value } = await service.client().csrfPair()
    const response = await fetch(`${service.address}/api/authn/login`, {
      method: 'POST',
      headers: { cookie },
    })
    return [response, { code: 'csrf-header-missing', path: '/api/authn/login', never: [value] }]
  },
  'csrf-mismatch': async service => {
    const { cookie, value } = await service.client().csrfPair()
    const other = await service.client().csrfPair()
    const headers = { cookie, 'x-xsrf-token': other.value }
    return [
      await fetch(`${service.address}/api/authn/login`, { method: 'POST', headers }),
      { code: 'csrf-mismatch', path: '/api/authn/login', never: [value, other.value] },
    ]
  },
  'csrf-not-ours': async service => {
    const headers = { cookie: 'DSPACE-XSRF-COOKIE=made-up', 'x-xsrf-token': 'made-up' }
    return [
      await fetch(`${service.address}/api/authn/login`, { method: 'POST', headers }),
      { code: 'csrf-not-ours', path: '/api/authn/login', never: ['made-up'] },
    ]
  },
  'origin-not-allowed': async service => [
    await service.client().get('/api', { origin: 'https://evil.example' }),
    { code: 'origin-not-allowed', path: '/api' },
  ],
  'short-lived-token-refused': async service => {
    const client = await loggedIn(service, ruth)
    const token = await client.shortLivedToken()
    return [
      await client.post(`/api/authn/shortlivedtokens?authentication-token=${token}`),
      { code: 'short-lived-token-refused', path: '/api/authn/shortlivedtokens', never: [token] },
    ]
  },
  'on-behalf-of-refused': async service => [
    await (await loggedIn(service, ruth)).get('/api/authn/status', { 'x-on-behalf-of': nobody }),
    { code: 'on-behalf-of-refused', path: '/api/authn/status' },
  ],
  'wrong-password': service => changing(service, 'wrong-password', 'wrong-verysecret'),
  'patch-refused': service => changing(service, 'patch-refused', passwordOf(ruth), { op: 'replace' }),
  'password-refused': service => changing(service, 'password-refused', passwordOf(ruth), {}, 'secret!'),
  'access-denied': async service => [
    await (await loggedIn(service, ruth)).get('/api/query/v4/epersons'),
    { code: 'access-denied', path: '/api/query/v4/epersons' },
  ],
  'not-found': async service => [
    await service.client().get('/api/nothing?authentication-token=verysecret'),
    { code: 'not-found', path: '/api/nothing', never: ['verysecret'] },
  ],
  'unknown-entity': async service => [
    await service.client().get('/api/query/v4/leters'),
    { code: 'unknown-entity', path: '/api/query/v4/leters' },
  ],
  'method-not-allowed': async service => [
    await service.client().request('/api/authn/login', { method: 'PUT' }),
    { code: 'method-not-allowed', path: '/api/authn/login' },
  ],
  'not-acceptable': async service => [
    await service.client().get('/api/query/v4/letters', { accept: 'image/png' }),
    { code: 'not-acceptable', path: '/api/query/v4/letters' },
  ],
  'precondition-failed': async service => [
    await service.client().get(await aFile(service), { 'if-match': '"another"' }),
    { code: 'precondition-failed', path: await aFile(service) },
  ],
  'range-not-satisfiable': async service => [
    await service.client().get(await aFile(service), { range: 'bytes=100-' }),
    { code: 'range-not-satisfiable', path: await aFile(service) },
  ],
  'body-too-large': async service => [
    await service.client().post('/api/authn/login', form(ruth, 'verysecret'.repeat(2_000))),
    { code: 'body-too-large', path: '/api/authn/login', never: ['verysecret'] },
  ],
  'unsupported-media-type': async service => [
    await service.client().post('/api/authn/login', JSON.stringify({ user: ruth, password: 'verysecret' }), {
      'content-type': 'application/json',
    }),
    { code: 'unsupported-media-type', path: '/api/authn/login', never: ['verysecret'] },
  ],
}

/** Ruth changes her password, or tries to. */
async function changing(
  service: Service,
  code: ProblemCode,
  current: string,
  operation: object = {},
  wanted = 'another-verysecret',
): Promise<[Response, Expected]> {
  const client = await loggedIn(service, ruth)
  const path = `/api/eperson/epersons/${(await client.status())._embedded.eperson?.uuid}`
  const value = { new_password: wanted, current_password: current }
  const body = JSON.stringify([{ op: 'add', path: '/password', value, ...operation }])
  const response = await client.patch(path, body, { 'content-type': 'application/json' })
  return [response, { code, path, never: ['verysecret', current, wanted] }]
}

/** Where a file of a few bytes is that everybody may read. */
async function aFile(service: Service): Promise<string> {
  const { bitstreams } = await putItem(service, 'test/1', everybody, [{ name: 'a.txt', content: 'a file' }])
  return contentOf(bitstreams[0] ?? { uuid: '' })
}

/** Provoked below: by a setting of its own, on a raw socket, or with a broken store. */
const provokedElsewhere: readonly ProblemCode[] = [
  'reason-required',
  'headers-too-large',
  'internal-error',
  'busy',
  'store-unavailable',
  'expectation-failed',
]

/** Provoked by providers, in the tests of single sign-on, with the same look at their shape. */
const provokedByProviders: readonly ProblemCode[] = [
  'redirect-not-allowed',
  'sign-on-not-begun',
  'sign-on-refused',
  'account-refused',
  'logout-not-understood',
  'provider-unavailable',
]

/** Needs a client that takes longer than 30 seconds, and so a test that does. */
const notProvoked: readonly ProblemCode[] = ['request-timeout']

for (const [code, provoke] of Object.entries(provoked))
  test(`E1 ${code} has the one shape, and its type is an address that answers`, async t => {
    const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
    await service.addEperson(ruth)
    await service.addEperson(admin, { admin: true })
    await service.addRecords('letters', 'id', [{ id: 1 }])
    const [response, expected] = await provoke(service)
    const { type, title } = await assertProblem(response, expected)
    const page = await fetch(service.address + type.slice(baseUrl.length))
    assert.equal(page.status, 200)
    assert.ok((await page.text()).includes(title))
  })

test('E1 every entry of the catalogue is provoked by a test or named here', () => {
  const known = [...Object.keys(provoked), ...provokedElsewhere, ...provokedByProviders, ...notProvoked]
  assert.deepEqual(known.toSorted(), Object.keys(problems).toSorted())
})

test('E1 the catalogue lists every entry, and each has a page', async t => {
  const service = await startService(t)
  const response = await service.client().get('/api/problems')
  const list = (await response.json()) as { code: string; type: string; status: number; title: string }[]
  assert.deepEqual(list.map(({ code }) => code).toSorted(), Object.keys(problems).toSorted())
  for (const { code, type, title, status } of list) {
    assert.equal(type, `${baseUrl}/api/problems/${code}`)
    const page = await service.client().get(`/api/problems/${code}`)
    assert.equal(page.status, 200)
    const text = await page.text()
    assert.ok(text.includes(title) && text.includes(String(status)), code)
  }
  for (const name of ['nothing', 'constructor', '__proto__', 'toString'])
    await assertProblem(await service.client().get(`/api/problems/${name}`), {
      code: 'not-found',
      path: `/api/problems/${name}`,
    })
})

test('E1 reason-required has the one shape', async t => {
  const service = await startService(t, {
    env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', CARREL_ON_BEHALF_OF_REASON: 'required' },
  })
  const { uuid } = await service.addEperson(ruth)
  await service.addEperson(admin, { admin: true })
  const client = await loggedIn(service, admin)
  const response = await client.get('/api/authn/status', { 'x-on-behalf-of': uuid })
  await assertProblem(response, { code: 'reason-required', path: '/api/authn/status' })
})

test('E1 busy has the one shape and a Retry-After', async t => {
  const service = await startService(t, {
    env: { CARREL_PASSWORD_CONCURRENCY: '1', CARREL_PASSWORD_QUEUE: '0' },
  })
  const client = service.client()
  await client.csrfPair()
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => client.post('/api/authn/login', form(ruth, 'verysecret'))),
  )
  const busy = answers.filter(({ status }) => status === 503)
  assert.ok(busy.length > 0, 'twelve logins at once are more than one')
  for (const response of busy) {
    assert.match(response.headers.get('retry-after') ?? '', /^\d+$/)
    await assertProblem(response, { code: 'busy', path: '/api/authn/login', never: ['verysecret'] })
  }
})

/** Somebody else keeps the store from changing. @returns what ends that */
async function lockStore(t: TestContext, dataFolder: string): Promise<() => Promise<void>> {
  const url = await databaseOf(dataFolder)
  if (url === undefined) {
    const other = new DatabaseSync(`${dataFolder}/carrel.db`)
    t.after(() => other.close())
    other.exec('BEGIN IMMEDIATE')
    return async () => other.exec('ROLLBACK')
  }
  const other = new pg.Client(url)
  atEnd(t, () => other.end())
  await other.connect()
  await other.query('BEGIN; LOCK TABLE carrel.event')
  return async () => void (await other.query('ROLLBACK'))
}

test('E1 store-unavailable has the one shape and a Retry-After', async t => {
  const service = await startService(t)
  await service.addEperson(ruth)
  const client = await loggedIn(service, ruth)
  const unlock = await lockStore(t, service.dataFolder)
  // Waits for the lock first, as long as the store is patient.
  const response = await client.post('/api/authn/shortlivedtokens')
  assert.match(response.headers.get('retry-after') ?? '', /^\d+$/)
  await assertProblem(response, {
    code: 'store-unavailable',
    path: '/api/authn/shortlivedtokens',
    never: [client.token ?? ''],
  })
  await unlock()
  assert.equal((await client.post('/api/authn/shortlivedtokens')).status, 200)
})

testOn('postgres', 'E1 E2 without its database every request that needs it is store-unavailable', async t => {
  const service = await startService(t)
  await service.addEperson(ruth)
  await service.addRecords('letters', 'id', [{ id: 1 }])
  const client = await loggedIn(service, ruth)
  await client.csrfPair()
  const restoreOrphan = await hideDatabase(t, service.dataFolder)
  const requests = {
    '/api/authn/status': () => client.get('/api/authn/status'),
    '/api/query/v4/letters': () => client.get('/api/query/v4/letters'),
    '/api/authn/login': () => client.tryLogin(ruth, passwordOf(ruth)),
    '/api/authn/shortlivedtokens': () => client.post('/api/authn/shortlivedtokens'),
    '/api/authn/logout': () => client.post('/api/authn/logout'),
  }
  for (const [path, ask] of Object.entries(requests)) {
    const response = await ask()
    assert.match(response.headers.get('retry-after') ?? '', /^\d+$/, path)
    const never = [client.token ?? '', passwordOf(ruth)]
    await assertProblem(response, { code: 'store-unavailable', path, never })
  }
  await restoreOrphan()
  for (const ask of Object.values(requests)) assert.ok([200, 204].includes((await ask()).status))
})

/** A service with a fault in its store: the password hash of ruth is nothing that could be read. */
async function failingService(t: TestContext) {
  const dataFolder = temporaryFolder(t)
  const service = await startService(t, { dataFolder })
  await service.addEperson(ruth)
  if ((await databaseOf(dataFolder)) === undefined) {
    const db = new DatabaseSync(`${dataFolder}/carrel.db`)
    db.exec("UPDATE eperson SET password_hash = 'damaged-hash'")
    db.close()
  } else await runSqlIn(dataFolder, "UPDATE carrel.eperson SET password_hash = 'damaged-hash'")
  const env = { CARREL_BASE_URL: baseUrl, CARREL_LOG_LEVEL: 'info' }
  const served = await serve(t, dataFolder, { env })
  const client = service.client()
  const { cookie, value } = await client.csrfPair()
  const response = await fetch(`${served.address}/api/authn/login`, {
    method: 'POST',
    headers: { cookie, 'x-xsrf-token': value },
    body: form(ruth, 'verysecret'),
  })
  return { served, response, secrets: ['verysecret', 'damaged-hash', value] }
}

test('E2 a fault of the service is 500 with an id that the log has too, and tells nothing else', async t => {
  const { served, response, secrets } = await failingService(t)
  const body = await assertProblem(response, {
    code: 'internal-error',
    path: '/api/authn/login',
    never: secrets,
  })
  await served.stop()
  const log = served.output.stdout + served.output.stderr
  assert.match(body.id ?? '', /^[0-9a-f-]{36}$/)
  assert.ok(log.includes(body.id ?? ''), log)
  for (const secret of secrets) assert.ok(!log.includes(secret), 'a secret is in the log')
})

testOn(
  'postgres',
  'E2 a statement that fails is 500, and neither it nor a name in the database is in the answer',
  async t => {
    const service = await startService(t)
    await service.addEperson(ruth)
    const client = service.client()
    await runSqlIn(service.dataFolder, 'ALTER TABLE carrel.eperson RENAME COLUMN password_stamp TO elsewhere')
    const never = ['password_stamp', 'carrel.', 'column', 'relation', '42703']
    const response = await client.tryLogin(ruth, passwordOf(ruth))
    await assertProblem(response, { code: 'internal-error', path: '/api/authn/login', never })
  },
)

test('E2 the log of a fault has no stack', async t => {
  const { served } = await failingService(t)
  await served.stop()
  assert.doesNotMatch(served.output.stdout + served.output.stderr, /\n\s+at |\\n\s+at /)
})

test('E2 an unknown path is 404, with every method and under every prefix', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const path of [
    '/',
    '/nothing',
    '/api/nothing',
    '/server/api/authn/nothing',
    '/health',
    '/api/authn/login/x',
  ])
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const response = method === 'POST' ? await client.post(path) : await client.request(path, { method })
      await assertProblem(response, { code: 'not-found', path })
    }
  assert.equal((await client.request('/api/nothing', { method: 'HEAD' })).status, 404)
})

test('E2 a segment longer than any name is an unknown path, too', async t => {
  const service = await startService(t)
  for (const path of ['/api/query/v4/', '/api/problems/', '/api/nothing/']) {
    const response = await service.client().get(path + 'x'.repeat(300))
    assert.equal(response.status, 404, path)
    await response.arrayBuffer()
  }
})

const routes = [
  ['/api', 'GET, HEAD'],
  ['/api/authn', 'GET, HEAD'],
  ['/api/authn/login', 'POST'],
  ['/api/authn/logout', 'POST'],
  ['/api/authn/status', 'GET, HEAD'],
  ['/api/authn/status/specialGroups', 'GET, HEAD'],
  ['/api/authn/shortlivedtokens', 'POST'],
  ['/api/security/csrf', 'GET, HEAD'],
  ['/api/problems', 'GET, HEAD'],
  ['/api/problems/not-found', 'GET, HEAD'],
  [`/api/eperson/epersons/${nobody}`, 'GET, HEAD, PATCH'],
  ['/api/query/v4', 'GET, HEAD'],
  ['/api/query/v4/letters', 'GET, HEAD'],
  ['/health/live', 'GET, HEAD'],
  ['/health/ready', 'GET, HEAD'],
] as const

test('E2 a method that a route does not have is 405 with Allow', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const [path, allow] of routes)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      if (allow.split(', ').includes(method)) continue
      const response = method === 'POST' ? await client.post(path) : await client.request(path, { method })
      assert.equal(response.headers.get('allow'), allow, `${method} ${path}`)
      await assertProblem(response, { code: 'method-not-allowed', path })
    }
  const answer = await client.request('/api/authn/login', { method: 'HEAD' })
  assert.equal(answer.status, 405)
  assert.equal(answer.headers.get('allow'), 'POST')
  assert.equal(await answer.text(), '')
})

for (const method of ['TRACE', 'PROPFIND', 'LOCK', 'SEARCH', 'REPORT', 'QUERY'])
  testOn('sqlite', `E2 ${method}, which no route has, is 405 with Allow`, async t => {
    const service = await startService(t)
    for (const [path, allow] of routes.slice(0, 4)) {
      const answer = await exchange(service.address, head(`${method} ${path} HTTP/1.1`))
      assertRawProblem(answer, { code: 'method-not-allowed', path })
      assert.equal(answer?.headers.get('allow'), allow)
    }
  })

test('E2 bad percent-encoding in the path is 400, not 500', async t => {
  const service = await startService(t)
  for (const path of ['/api/%zz', '/%', '/api/query/v4/%ff', '/api/problems/%c3%28', '/server/api/%e0%a4%a'])
    assertRawProblem(await exchange(service.address, head(`GET ${path} HTTP/1.1`)), {
      code: 'bad-request',
      path,
    })
})

test('E2 bad percent-encoding in the query is 400 where parameters are read', async t => {
  const service = await startService(t)
  await service.addRecords('letters', 'id', [{ id: 1 }])
  for (const path of ['/api/query/v4', '/api/query/v4/letters', '/api/authn/status/specialGroups'])
    for (const query of ['limit=%zz', '%=1', 'limit=%ff', 'x=%c3%28&limit=1', 'limit=%4'])
      assertRawProblem(await exchange(service.address, head(`GET ${path}?${query} HTTP/1.1`)), {
        code: 'bad-request',
        path,
      })
})

test('E2 bad percent-encoding in the query is 400 on every other endpoint, too', async t => {
  const service = await startService(t)
  for (const path of ['/api', '/api/authn', '/api/authn/status', '/api/problems', '/health/live'])
    assertRawProblem(await exchange(service.address, head(`GET ${path}?x=%zz HTTP/1.1`)), {
      code: 'bad-request',
      path,
    })
})

test('E2 bad percent-encoding in a form is 400, and a field given twice too', async t => {
  const service = await startService(t)
  for (const body of [
    'user=%zz&password=verysecret',
    'user=a&password=verysecret%',
    'user=a&password=%f',
    '%x=1',
    'user=a&user=b&password=verysecret',
  ]) {
    const response = await service.client().post('/api/authn/login', body, {
      'content-type': 'application/x-www-form-urlencoded',
    })
    await assertProblem(response, { code: 'bad-request', path: '/api/authn/login', never: ['verysecret'] })
  }
})

test('E2 nothing acceptable is 406 and lists what there is', async t => {
  const service = await startService(t)
  await service.addRecords('letters', 'id', [{ id: 1 }])
  for (const accept of ['image/png', 'text/html;q=1', 'application/json;q=0', 'text/*;q=0, image/*']) {
    const response = await service.client().get('/api/query/v4/letters', { accept })
    const body = await assertProblem(response, { code: 'not-acceptable', path: '/api/query/v4/letters' })
    assert.match(JSON.stringify(body), /"legal":\["application\/json","application\/x-ndjson","text\/csv"\]/)
  }
})

test('E2 a body over 16 kB is 413, with a length and in chunks', async t => {
  const service = await startService(t)
  const { cookie, value } = await service.client().csrfPair()
  const lines = [
    'POST /api/authn/login HTTP/1.1',
    `Cookie: ${cookie}`,
    `X-XSRF-TOKEN: ${value}`,
    'Content-Type: application/x-www-form-urlencoded',
  ]
  const body = `user=a&password=${'x'.repeat(20_000)}`
  const expected = { code: 'body-too-large', path: '/api/authn/login' } as const
  const withLength = head(...lines, `Content-Length: ${body.length}`) + body
  assertRawProblem(await exchange(service.address, withLength), expected)
  const chunked = `${head(...lines, 'Transfer-Encoding: chunked')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  assertRawProblem(await exchange(service.address, chunked), expected)
})

test('E2 a body of a media type that is not read is 415', async t => {
  const service = await startService(t)
  for (const type of [
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/xml',
    'nonsense',
    'application/x-www-form-urlencoded-not',
  ]) {
    const response = await service.client().post('/api/authn/login', 'user=a&password=verysecret', {
      'content-type': type,
    })
    await assertProblem(response, {
      code: 'unsupported-media-type',
      path: '/api/authn/login',
      never: ['verysecret'],
    })
  }
})

/** What Node refuses before a route is known: whoever answers may not know the path either. */
for (const [what, code, request] of [
  ['that is no HTTP', 'bad-request', 'GARBAGE\r\n\r\n'],
  ['with a space in a header name', 'bad-request', head('GET /api HTTP/1.1', 'bad header: x')],
  ['with NUL in a header', 'bad-request', head('GET /api HTTP/1.1', 'X-Bad: a\0b')],
  ['with two lengths', 'bad-request', head('POST /api HTTP/1.1', 'Content-Length: 1', 'Content-Length: 2')],
  [
    'with a length and chunks',
    'bad-request',
    head('POST /api HTTP/1.1', 'Content-Length: 1', 'Transfer-Encoding: chunked'),
  ],
  ['without Host', 'bad-request', 'GET /api HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['with two Hosts (RFC 9112 §3.2)', 'bad-request', head('GET /api HTTP/1.1', 'Host: other.test')],
  [
    'with headers too large',
    'headers-too-large',
    head('GET /api HTTP/1.1', `X-Large: ${'x'.repeat(70_000)}`),
  ],
] as const)
  testOn('sqlite', `E2 a request ${what} is ${problems[code].status}, in the one shape`, async t => {
    const service = await startService(t)
    const answer = await exchange(service.address, request)
    assert.equal(answer?.status, problems[code].status)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json\b/)
    const body = JSON.parse(answer.body) as Body
    assert.equal(body.type, `${baseUrl}/api/problems/${code}`)
    assert.equal(body.title, problems[code].title)
    assert.equal(body.status, problems[code].status)
    assert.equal(body.message, body.detail)
    assert.equal(typeof body.path, 'string')
  })

test('E1 an expectation that cannot be met is refused in the one shape', async t => {
  const service = await startService(t)
  const answer = await exchange(service.address, head('GET /api HTTP/1.1', 'Expect: nonsense'))
  assert.ok(answer && answer.status >= 400 && answer.status < 500)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json\b/)
})

test('E1 a problem has no body when HEAD asks, and the same headers', async t => {
  const service = await startService(t)
  const got = await service.client().get('/api/query/v4/nothing')
  const headed = await service.client().request('/api/query/v4/nothing', { method: 'HEAD' })
  assert.equal(headed.status, got.status)
  for (const name of ['content-type', 'content-length', 'x-content-type-options'])
    assert.equal(headed.headers.get(name), got.headers.get(name), name)
  assert.equal(await headed.text(), '')
})

test('E1 the path of a problem is the one that was asked, without its query', async t => {
  const service = await startService(t)
  const response = await service
    .client()
    .get('/server/api/query/v4/nothing?authentication-token=eyJhbGciOiJIUzI1NiJ9.e30.c2ln&x=verysecret')
  await assertProblem(response, {
    code: 'unknown-entity',
    path: '/server/api/query/v4/nothing',
    never: ['eyJ', 'verysecret'],
  })
})

test('E3 a failed login and short-lived tokens without a user are 401 with WWW-Authenticate', async t => {
  const service = await startService(t)
  await service.addEperson(ruth)
  const client = service.client()
  for (const [path, code, response] of [
    ['/api/authn/login', 'login-failed', await client.post('/api/authn/login', form(ruth, 'wrong'))],
    ['/api/authn/login', 'login-failed', await client.post('/api/authn/login')],
    [
      '/api/authn/shortlivedtokens',
      'authentication-required',
      await client.post('/api/authn/shortlivedtokens'),
    ],
  ] as const) {
    assert.equal(response.headers.get('www-authenticate'), 'password realm="Carrel"')
    await assertProblem(response, { code, path })
  }
})

test('E3 X-On-Behalf-Of is 400 when malformed and 403 when the caller may not', async t => {
  const service = await startService(t)
  await service.addEperson(ruth)
  const client = await loggedIn(service, ruth)
  const path = '/api/authn/status'
  await assertProblem(await client.get(path, { 'x-on-behalf-of': 'ruth' }), {
    code: 'bad-on-behalf-of',
    path,
  })
  await assertProblem(await client.get(path, { 'x-on-behalf-of': nobody }), {
    code: 'on-behalf-of-refused',
    path,
  })
})

test('E3 logout and status never fail on authentication', async t => {
  const service = await startService(t)
  const client = service.client()
  for (const authorization of [
    'Bearer nonsense',
    'Bearer',
    'Bearer a.b.c',
    'Basic cnV0aDpzZWNyZXQ=',
    'x'.repeat(10_000),
    'Bearer eyJhbGciOiJub25lIn0.e30.',
  ]) {
    const status = await client.get('/api/authn/status', { authorization })
    assert.equal(status.status, 200, authorization)
    assert.equal(((await status.json()) as { authenticated: boolean }).authenticated, false)
    const logout = await client.post('/api/authn/logout', undefined, { authorization })
    assert.equal(logout.status, 204, authorization)
  }
})

test('E2 an address with a fragment is malformed, and nothing of the fragment is in the answer', async t => {
  const service = await startService(t)
  for (const line of [
    'GET /api/nothing#%ZZ HTTP/1.1',
    'PUT /api/authn/login#%ZZ HTTP/1.1',
    'GET /api/authn/status#authentication-token=verysecret HTTP/1.1',
    'GET /api#;Domain=evil HTTP/1.1',
  ]) {
    const answer = await exchange(service.address, head(line))
    assert.equal(answer?.status, 400, line)
    assert.doesNotMatch(answer.body, /%ZZ|verysecret|evil/)
  }
})
