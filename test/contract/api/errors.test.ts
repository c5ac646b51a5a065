import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { commandEvent } from '../../../src/cli/store.ts'
import { type ProblemCode, problems } from '../../../src/http/problems.ts'
import type { Client } from '../../support/clients/client.ts'
import { refusalAfter } from '../../support/clients/guesser.ts'
import { assertProblem, type Expected } from '../../support/clients/problem-shape.ts'
import { contentOf, everybody, putItem } from '../../support/data/repository.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { databaseOf, hideDatabase, runSqlIn, test, testOn } from '../../support/service/engines.ts'
import { serve } from '../../support/service/process.ts'
import {
  baseUrl,
  passwordOf,
  type Service,
  startService,
  temporaryFolder,
} from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const form = (user: string, password: string) => new URLSearchParams({ user, password })
const ruth = 'ruth@example.org'
const admin = 'admin@example.org'
const nobody = '00000000-0000-4000-8000-000000000000'

/** All problems of the catalogue that a single request to a real route can cause. */
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
    await (await service.loggedIn(admin)).get('/api/authn/status', { 'x-on-behalf-of': nobody }),
    { code: 'bad-on-behalf-of', path: '/api/authn/status' },
  ],
  'login-failed': async service => [
    await service.client().post('/api/authn/login', form(ruth, 'wrong-verysecret')),
    { code: 'login-failed', path: '/api/authn/login', never: ['verysecret', ruth] },
  ],
  'logins-closed': async service => {
    const alert = { message: 'x', allowSessions: 'current', countdownTo: null, active: true } as const
    await service.storage.alerts.add(alert, commandEvent('alert.change'))
    const response = await service.client().post('/api/authn/login', form(ruth, passwordOf(ruth)))
    return [response, { code: 'logins-closed', path: '/api/authn/login', never: [ruth] }]
  },
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
    const client = await service.loggedIn(ruth)
    const token = await client.shortLivedToken()
    return [
      await client.post(`/api/authn/shortlivedtokens?authentication-token=${token}`),
      { code: 'short-lived-token-refused', path: '/api/authn/shortlivedtokens', never: [token] },
    ]
  },
  'on-behalf-of-refused': async service => [
    await (await service.loggedIn(ruth)).get('/api/authn/status', { 'x-on-behalf-of': nobody }),
    { code: 'on-behalf-of-refused', path: '/api/authn/status' },
  ],
  'wrong-password': service => changing(service, 'wrong-password', 'wrong-verysecret'),
  'access-token-invalid': async service => {
    const client = await service.loggedIn(ruth)
    const response = await wanting(client, { name: 'verysecret', methods: ['LOOK'] })
    const path = '/api/authn/tokens'
    return [response, { code: 'access-token-invalid', path, never: ['verysecret'] }]
  },
  'access-token-refused': async service => {
    const client = await service.loggedIn(ruth)
    const { token } = (await (await wanting(client, { name: 'a' })).json()) as { token: string }
    client.token = token
    const path = '/api/authn/tokens'
    return [await client.get(path), { code: 'access-token-refused', path, never: [token] }]
  },
  'patch-refused': service => changing(service, 'patch-refused', passwordOf(ruth), { op: 'replace' }),
  'change-refused': async service => {
    const client = await service.loggedIn(admin)
    const response = await client.post(
      '/api/eperson/groups',
      '{"name":"Administrator","never":"verysecret"}',
      {
        'content-type': 'application/json',
      },
    )
    return [response, { code: 'change-refused', path: '/api/eperson/groups', never: ['verysecret'] }]
  },
  'not-writable': async service => [
    await (await service.loggedIn(ruth)).request('/api/query/v4/letters/1', { method: 'DELETE' }),
    { code: 'not-writable', path: '/api/query/v4/letters/1' },
  ],
  'record-refused': async service => {
    const { entities } = service.storage
    await entities.changeWriteRule('letters', 'eperson', commandEvent('entity.writers'))
    const client = await service.loggedIn(ruth)
    const headers = { 'content-type': 'application/json' }
    const path = '/api/query/v4/letters/1'
    return [
      await client.request(path, { method: 'PUT', headers, body: '{"unknown":1}' }),
      { code: 'record-refused', path },
    ]
  },
  'password-refused': service => changing(service, 'password-refused', passwordOf(ruth), {}, 'secret!'),
  'access-denied': async service => [
    await (await service.loggedIn(ruth)).get('/api/query/v4/epersons'),
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
  'entity-conflict': async service => {
    const root = await service.loggedIn(admin)
    const { value } = await root.csrfPair()
    const path = '/api/admin/entities/items'
    const response = await root.request(path, { method: 'DELETE', headers: { 'x-xsrf-token': value } })
    return [response, { code: 'entity-conflict', path }]
  },
  'entity-refused': async service => {
    const path = '/api/admin/entities/letters'
    const body = '{"read":"all"}'
    const headers = { 'content-type': 'application/json' }
    const response = await (await service.loggedIn(admin)).patch(path, body, headers)
    return [response, { code: 'entity-refused', path }]
  },
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

/** Sends a change of Ruth's password. */
async function changing(
  service: Service,
  code: ProblemCode,
  current: string,
  operation: object = {},
  wanted = 'another-verysecret',
): Promise<[Response, Expected]> {
  const client = await service.loggedIn(ruth)
  const path = `/api/eperson/epersons/${(await client.status())._embedded.eperson?.uuid}`
  const value = { new_password: wanted, current_password: current }
  const body = JSON.stringify([{ op: 'add', path: '/password', value, ...operation }])
  const response = await client.patch(path, body, { 'content-type': 'application/json' })
  return [response, { code, path, never: ['verysecret', current, wanted] }]
}

const wanting = (client: Client, wanted: object) =>
  client.post('/api/authn/tokens', JSON.stringify(wanted), { 'content-type': 'application/json' })

/** Adds a small file that everyone may read. @returns its path */
async function aFile(service: Service): Promise<string> {
  const { bitstreams } = await putItem(service, 'test/1', everybody, [{ name: 'a.txt', content: 'a file' }])
  return contentOf(bitstreams[0] ?? { uuid: '' })
}

/** Problems caused in tests below: by a setting, on a raw socket, or with a broken store. */
const provokedElsewhere: readonly ProblemCode[] = [
  'host-not-allowed',
  'too-many-attempts',
  'reason-required',
  'headers-too-large',
  'internal-error',
  'busy',
  'query-timeout',
  'store-unavailable',
  'expectation-failed',
  'request-timeout',
  'files-full',
  'files-unavailable',
  'no-room',
  'process-state',
  'tus-version',
  'upload-in-use',
  'upload-offset',
  'record-referenced',
  'secret-set',
  'explanation-refused',
  'mail-token-refused',
  'registration-refused',
  'second-factor-required',
  'second-factor-enrolment-required',
  'second-factor-missing',
  'factor-refused',
  'proof-refused',
  'snapshot-expired',
]

/**
 * Problems caused by providers, in the tests of single sign-on and directories, which check their shape, too.
 */
const provokedByProviders: readonly ProblemCode[] = [
  'redirect-not-allowed',
  'sign-on-not-begun',
  'sign-on-refused',
  'account-refused',
  'logout-not-understood',
  'provider-unavailable',
  'directory-unavailable',
]

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
  const known = [...Object.keys(provoked), ...provokedElsewhere, ...provokedByProviders]
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

test('E1 E2 too-many-attempts has the one shape, and says when to come again', async t => {
  const service = await startService(t)
  const client = service.client()
  const wrong = () => client.tryLogin(ruth, 'wrong')
  const refused = await refusalAfter(
    service,
    10,
    async () => assert.equal((await wrong()).status, 401),
    wrong,
  )
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  await assertProblem(refused, { code: 'too-many-attempts', path: '/api/authn/login' })
})

test('E1 reason-required has the one shape', async t => {
  const service = await startService(t, {
    env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', CARREL_ON_BEHALF_OF_REASON: 'required' },
  })
  const { uuid } = await service.addEperson(ruth)
  const client = await service.addLoggedIn(admin, { admin: true })
  const response = await client.get('/api/authn/status', { 'x-on-behalf-of': uuid })
  await assertProblem(response, { code: 'reason-required', path: '/api/authn/status' })
})

test('E1 busy has the one shape and a Retry-After', async t => {
  const service = await startService(t, {
    env: { CARREL_PASSWORD_CONCURRENCY: '1', CARREL_PASSWORD_QUEUE: '0' },
  })
  const client = service.client()
  await client.csrfPair()
  const busy = await until(
    'a login that is refused, of twelve at once',
    async () => {
      const logins = Array.from({ length: 12 }, () =>
        client.post('/api/authn/login', form(ruth, 'verysecret')),
      )
      return (await Promise.all(logins)).filter(({ status }) => status === 503)
    },
    refused => refused.length > 0,
  )
  for (const response of busy) {
    assert.match(response.headers.get('retry-after') ?? '', /^\d+$/)
    await assertProblem(response, { code: 'busy', path: '/api/authn/login', never: ['verysecret'] })
  }
})

/** Locks the store against changes. @returns a function that unlocks it */
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
  const client = await service.addLoggedIn(ruth)
  const unlock = await lockStore(t, service.dataFolder)
  // The request first waits for the lock, up to the store's limit.
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
  const client = await service.loggedIn(ruth)
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

/** Starts a service with a fault in its store: ruth's password hash can't be parsed. */
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
  assert.ok(log.includes(`"request":"${body.requestId}"`), log)
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
