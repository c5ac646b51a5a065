import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { idIn, maxAccessTokens, newAccessToken } from '../../../src/model/access-tokens.ts'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { eventsOf } from '../../support/data/events.ts'
import { anyEperson, contentOf, putItem } from '../../support/data/repository.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { repeats } from '../../support/scale.ts'
import { runSqlIn, test, testOn } from '../../support/service/engines.ts'
import { startNodes } from '../../support/service/nodes.ts'
import { routesOf } from '../../support/service/routes.ts'
import { passwordOf, type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const adminEmail = 'admin@example.org'
const path = '/api/authn/tokens'
const day = 24 * 3600 * 1000

interface Made {
  readonly id: string
  readonly token: string
  readonly prefix: string
  readonly expires: string
  readonly lastUsed: string | null
}

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env } })
  const { uuid } = await service.addEperson(ruthEmail)
  const { uuid: adminId } = await service.addEperson(adminEmail, { admin: true })
  const ruth = await service.loggedIn(ruthEmail)
  const admin = await service.loggedIn(adminEmail)
  return { service, uuid, ruth, admin, adminId }
}

const send = (client: Client, wanted: unknown) =>
  client.post(path, JSON.stringify(wanted), { 'content-type': 'application/json' })

let names = 0
async function made(client: Client, wanted: object = {}): Promise<Made> {
  const answer = await send(client, { name: `script ${++names}`, ...wanted })
  const text = await answer.text()
  assert.equal(answer.status, 201, text)
  return JSON.parse(text) as Made
}

/** Returns a client with a new access token. */
async function program(service: Service, owner: Client, wanted: object = {}): Promise<Client> {
  const client = service.client()
  client.token = (await made(owner, wanted)).token
  return client
}

const everything = { methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] }

const listOf = async (client: Client, at = path) =>
  ((await (await client.get(at)).json()) as { _embedded: { tokens: Made[] } })._embedded.tokens

test('K1 an access token is shown once, has a form that scanners find, and works as Bearer and X-Authentication', async t => {
  const { service, uuid, ruth } = await started(t)
  const before = Date.now()
  const answer = await send(ruth, { name: ' nightly  job ' })
  assert.equal(answer.status, 201)
  const body = (await answer.json()) as Made & Record<string, unknown>
  const { token, ...shown } = body
  assert.match(token, /^carrel_pat_[0-9A-Za-z]{61}$/)
  assert.equal(idIn(token), shown.id)
  assert.equal(shown.prefix, `carrel_pat_${shown.id}`)
  assert.ok(token.startsWith(shown.prefix))
  assert.equal(shown.name, 'nightly  job')
  assert.deepEqual(
    [shown.methods, shown.parts, shown.entities, shown.networks],
    [['GET'], ['query', 'items', 'people', 'administration', 'processes'], null, []],
  )
  assert.ok(Math.abs(Date.parse(shown.expires) - before - 30 * day) < 60_000)
  assert.deepEqual(await listOf(ruth), [shown])
  assert.deepEqual(
    await (await ruth.get(answer.headers.get('location')?.replace(/^.*\/api/, '/api') ?? '')).json(),
    shown,
  )
  assert.ok(!(await (await ruth.get(path)).text()).includes(token))

  const status = await service.client().status('/api/authn/status', { authorization: `bearer ${token}` })
  assert.equal(status._embedded.eperson?.uuid, uuid)
  const other = await service.client().get('/api/authn/status', { 'x-authentication': token })
  const { authenticated, authenticationMethod } = (await other.json()) as Record<string, unknown>
  assert.deepEqual([authenticated, authenticationMethod], [true, 'access-token'])
  await until(
    'the time of its last use',
    async () => (await listOf(ruth))[0]?.lastUsed,
    lastUsed => lastUsed !== null,
  )
})

test('K1 what is forged, shortened, changed, doubled or in the address is no valid token', async t => {
  const { service, ruth } = await started(t)
  const { token } = await made(ruth)
  const other = newAccessToken().token
  const wrong = [
    other,
    token.slice(0, -1),
    `${token}0`,
    `${token.slice(0, -7)}${token.at(-7) === '0' ? '1' : '0'}${token.slice(-6)}`,
    // The name of an existing token, with the secret of another and a correct checksum.
    withSum(token.slice(0, 23) + other.slice(23, 66)),
    token.toLowerCase(),
    token.replace('carrel_pat_', 'carrel_pat'),
    'carrel_pat_',
    `carrel_pat_${'0'.repeat(61)}`,
    `carrel_pat_${'0'.repeat(9_000)}`,
  ]
  for (const one of wrong) assert.equal(await service.client().isLoggedIn(one), false, one.slice(0, 80))
  const inAddress = await service.client().status(`/api/authn/status?authentication-token=${token}`)
  assert.equal(inAddress.authenticated, false)
  await assertUnauthorized(await service.client().get(`/api/eperson/epersons?authentication-token=${token}`))
  assert.equal(await service.client().isLoggedIn(token), true)
})

/** Adds the checksum that the documentation describes, computed a second time. */
function withSum(start: string): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let crc = 0xffffffff
  for (const byte of Buffer.from(start)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  let rest = ~crc >>> 0
  let sum = ''
  for (let at = 0; at < 6; at++) {
    sum = `${digits[rest % 62]}${sum}`
    rest = Math.floor(rest / 62)
  }
  return start + sum
}

test('K2 a token that only reads changes nothing, and one of other parts reaches no others', async t => {
  const { service, admin } = await started(t)
  await service.addRecords('birds', 'id', [{ id: 1 }], 'admin')
  const reader = await program(service, admin)
  assert.equal((await reader.get('/api/query/v4/birds')).status, 200)
  assert.equal((await reader.request('/api/query/v4/birds', { method: 'HEAD' })).status, 200)
  const question = await reader.post('/api/query/v4/birds', '{"limit":1}', {
    'content-type': 'application/json',
  })
  assert.equal(question.status, 200, 'a query by POST is a read')
  assert.equal((await reader.get('/api/eperson/epersons')).status, 200)
  assert.equal((await reader.get('/api/core/items')).status, 200)

  const items = await program(service, admin, { parts: ['items'] })
  assert.equal((await items.get('/api/core/items')).status, 200)
  for (const address of ['/api/query/v4', '/api/query/v4/birds', '/api/eperson/epersons'])
    await assertProblem(await items.get(address), 403, 'access-token-refused')
  for (const address of ['/api', '/api/authn/status', '/api/problems', '/api/security/csrf'])
    assert.ok((await items.get(address)).ok, address)

  const writer = await program(service, admin, { methods: ['DELETE'] })
  await assertProblem(await writer.get('/api/query/v4/birds'), 403, 'access-token-refused')
})

test('K2 a token for some entities sees no others, not in lists, subqueries or relations either', async t => {
  const { service, admin } = await started(t)
  await service.addRecords('birds', 'id', [{ id: 1 }])
  await service.addRecords('secrets', 'id', [{ id: 1 }])
  const some = await program(service, admin, { entities: ['birds'] })
  const query = (text: string) => `/api/query/v4/birds?query=${encodeURIComponent(text)}`
  assert.equal((await some.get('/api/query/v4/birds')).status, 200)
  const all = (await (await some.get('/api/query/v4')).json()) as Record<string, unknown>
  assert.ok(!JSON.stringify(all).includes('secrets'))
  await assertProblem(await some.get('/api/query/v4/secrets'), 403, 'access-denied')
  const inner = '["in","id",["from","secrets",["extract","id"]]]'
  assert.equal((await admin.get(query(inner))).status, 200)
  await assertProblem(await some.get(query(inner)), 400, 'bad-parameter')
  const from = `/api/query/v4?query=${encodeURIComponent('["from","secrets"]')}`
  assert.equal((await admin.get(from)).status, 200)
  assert.notEqual((await some.get(from)).status, 200)
  for (const address of ['/api/core/items', '/api/eperson/epersons', '/api/query/v4/epersons'])
    assert.equal((await some.get(address)).status, 403, address)
})

test('K3 whatever its scope, it logs nobody in and acts for nobody, even with a password beside it', async t => {
  const { service, uuid, admin } = await started(t)
  const client = await program(service, admin, everything)
  const refused = [
    await client.post(
      '/api/authn/login',
      new URLSearchParams({ user: adminEmail, password: passwordOf(adminEmail) }),
    ),
    await client.get('/api/eperson/epersons', { 'x-on-behalf-of': uuid }),
    await client.get('/api/authn/status', { 'x-on-behalf-of': uuid }),
  ]
  for (const answer of refused) {
    assert.equal(answer.headers.get('authorization'), null)
    await assertProblem(answer, 403, 'access-token-refused')
  }
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  assert.deepEqual([await admin.isLoggedIn(), await client.isLoggedIn()], [true, true])
})

test('K3 a download by an access token leaves no lease', async t => {
  const { service, ruth } = await started(t)
  const { bitstreams } = await putItem(service, 'i', anyEperson, [{ name: 'a.txt' }])
  const content = contentOf(bitstreams[0] ?? { uuid: '' })
  const client = await program(service, ruth)
  const answer = await client.get(content)
  assert.equal(answer.status, 200)
  assert.ok(!answer.headers.getSetCookie().some(one => one.startsWith('CARREL-LEASE=')))
  const elsewhere = await program(service, ruth, { parts: ['query'] })
  await assertProblem(await elsewhere.get(content), 403, 'access-token-refused')
})

test('K2 every route is in the table of what access tokens reach, or is refused', async t => {
  const { service, admin } = await started(t)
  const token = (await made(admin, everything)).token
  const reached: string[] = []
  for (const { method, url } of routesOf(service)) {
    // HEAD is handled by the route of GET, and its answers have no body.
    if (method === 'HEAD') continue
    const address = url.replace(/:[^/]+/g, '00000000-0000-4000-8000-000000000000').replace('*', 'x')
    const client = service.client()
    const pair = await client.csrfPair()
    const answer = await client.request(address, {
      method,
      headers: { authorization: `Bearer ${token}`, 'x-xsrf-token': pair.value },
    })
    const text = await answer.text()
    if (!(answer.status === 403 && text.includes('access-token-refused'))) reached.push(`${method} ${url}`)
  }
  const open =
    /^GET \/(api\/?|api\/(docs|openapi\.json|problems|security\/csrf|authn\/status|core|dso|pid|eperson|admin|system|uploads|query|meta|authz\/resourcepolicies)(\/.*)?|(status|metrics)\/v\d.*)$/
  const changing =
    /^(POST|PUT|PATCH|DELETE) \/api\/(core|authz\/resourcepolicies|admin|system|uploads|query\/v4)(\/.*)?$/
  const others = reached.filter(route => !open.test(route) && !changing.test(route))
  // These are the routes outside of the scope that requires a caller; questions to the query endpoints are
  // left out.
  assert.deepEqual(others.filter(route => !/^POST \/api\/query\/v4/.test(route)).toSorted(), [
    'GET /',
    'GET /console',
    'GET /console*',
    'GET /console/assets/:name',
    'GET /console/client/:name',
    'GET /console/logo',
    'GET /health/live',
    'GET /health/ready',
    'GET /metrics',
    'GET /signposting/links/:uuid',
    'POST /api/authn/logout',
  ])
})

test('K2 a token for processes alone deletes no item, ingests nothing, and reads no audit trail', async t => {
  const { service, admin } = await started(t)
  const { uuid } = await putItem(service, 'kept', anyEperson, [])
  const deletion = (client: Client) => {
    const form = new FormData()
    form.set('properties', JSON.stringify([{ name: '-i', value: uuid }]))
    return client.csrfPair().then(({ value }) =>
      client.request('/api/system/scripts/object-deletion/processes', {
        method: 'POST',
        body: form,
        headers: { 'x-xsrf-token': value },
      }),
    )
  }
  const methods = ['GET', 'POST', 'PUT']
  const processes = await program(service, admin, { methods, parts: ['processes'] })
  const body = JSON.stringify({ message: 'x', active: true })
  const json = { 'content-type': 'application/json' }
  for (const answer of [
    await deletion(processes),
    await deletion(await program(service, admin, { methods, parts: ['processes', 'items'] })),
    await processes.get('/api/system/auditevents'),
    await processes.get('/api/system/auditevents/search/findByObject?object=kept'),
    await processes.post('/api/system/systemwidealerts', body, json),
    await processes.post('/api/system/scripts/metadata-deletion/processes'),
  ])
    await assertProblem(answer, 403, 'access-token-refused')
  assert.ok(await service.storage.repository.item(uuid))
  assert.equal((await processes.post('/api/system/scripts/verify/processes')).status, 202)

  const upload = '0'.repeat(32)
  for (const begun of [
    { kind: 'ingest', eperson: null, parameters: { upload } },
    { kind: 'import', eperson: null, parameters: { entity: 'books', upload, query: 'key=id' } },
  ] as const) {
    const process = await service.storage.processes.begin(begun, { owner: 'x', atOnce: null, waiting: 1 })
    assert.ok(process && 'id' in process)
    await service.storage.processes.interrupt(['x'])
    const resume = `/api/system/processes/${process.id}/resume`
    await assertProblem(await processes.post(resume), 403, 'access-token-refused')
  }

  const both = { methods: [...methods, 'DELETE'], parts: ['processes', 'items'] }
  assert.equal((await deletion(await program(service, admin, both))).status, 202)
  await until(
    'the end of the item',
    () => service.storage.repository.item(uuid),
    item => item === undefined,
  )
  const auditor = await program(service, admin, { parts: ['administration'] })
  assert.equal((await auditor.get('/api/system/auditevents')).status, 200)
})

test('K4 a token has the rights that its eperson has now, and dies with them', async t => {
  const { service, ruth, uuid } = await started(t)
  const { people } = service.storage
  const client = await program(service, ruth)
  await assertProblem(await client.get('/api/eperson/epersons'), 403, 'access-denied')
  await people.join('Administrator', ruthEmail, commandEvent('group.join'))
  assert.equal((await client.get('/api/eperson/epersons')).status, 200)
  await people.leave('Administrator', ruthEmail, commandEvent('group.leave'))
  await assertProblem(await client.get('/api/eperson/epersons'), 403, 'access-denied')
  await people.setEnabled(ruthEmail, false, commandEvent('eperson.disable'))
  assert.equal(await client.isLoggedIn(), false)
  await people.setEnabled(ruthEmail, true, commandEvent('eperson.enable'))
  assert.equal(await client.isLoggedIn(), false, 'it does not come back')
  await ruth.login(ruthEmail)
  const again = await program(service, ruth)
  assert.equal(await again.isLoggedIn(), true)
  await people.deleteEperson(ruthEmail, { ...commandEvent('eperson.delete'), eperson: uuid })
  assert.equal(await again.isLoggedIn(), false)
})

test('K5 a logout and ended sessions leave access tokens; a changed password ends them, its owner’s change too', async t => {
  const { service, ruth, uuid } = await started(t)
  const client = await program(service, ruth)
  assert.equal((await ruth.delete('/api/authn/sessions')).status, 204)
  assert.equal((await ruth.post('/api/authn/logout')).status, 204)
  assert.deepEqual([await ruth.isLoggedIn(), await client.isLoggedIn()], [false, true])

  await ruth.login(ruthEmail)
  const value = { new_password: 'quite another one', current_password: passwordOf(ruthEmail) }
  const change = await ruth.patch(
    `/api/eperson/epersons/${uuid}`,
    JSON.stringify([{ op: 'add', path: '/password', value }]),
    { 'content-type': 'application/json' },
  )
  assert.equal(change.status, 200)
  assert.deepEqual([await ruth.isLoggedIn(), await client.isLoggedIn()], [true, false])
  assert.deepEqual(await listOf(ruth), [])

  const other = await program(service, ruth)
  await service.storage.people.setPassword({ email: ruthEmail }, 'none', commandEvent('eperson.password'))
  assert.equal(await other.isLoggedIn(), false)
})

test('K5 its owner revokes a token at once; those of others are as unknown as none', async t => {
  const { service, uuid, ruth, admin } = await started(t)
  const { id, token } = await made(ruth)
  const { id: adminsId } = await made(admin)
  assert.equal(await ruth.isLoggedIn(token), true)
  for (const wrong of [
    adminsId,
    '0'.repeat(12),
    'x',
    '%00',
    id.toLowerCase() === id ? 'X' : id.toLowerCase(),
  ])
    await assertProblem(await ruth.delete(`${path}/${wrong}`), 404, 'not-found')
  await assertProblem(await admin.delete(`${path}/${id}`), 404, 'not-found')
  assert.equal((await ruth.delete(`${path}/${id}`)).status, 204)
  assert.equal(await service.client().isLoggedIn(token), false)
  await assertProblem(await ruth.delete(`${path}/${id}`), 404, 'not-found')
  const events = [...(await eventsOf(admin, 'token.add')), ...(await eventsOf(admin, 'token.revoke'))]
  assert.deepEqual(
    events.filter(one => one.eperson === uuid).map(({ actor, object }) => [actor, object]),
    [
      [uuid, id],
      [uuid, id],
    ],
  )
  assert.ok(!JSON.stringify(events).includes(token.slice(24)))
})

test('K6 an administrator sees and revokes the access tokens of anybody', async t => {
  const { uuid, ruth, admin } = await started(t)
  const [one, two] = [await made(ruth), await made(ruth)]
  const address = `/api/eperson/epersons/${uuid}/tokens`
  assert.deepEqual(
    (await listOf(admin, address)).map(({ id }) => id),
    [one.id, two.id],
  )
  assert.ok(!JSON.stringify(await listOf(admin, address)).includes(one.token))
  assert.equal((await admin.delete(`${address}/${one.id}`)).status, 204)
  assert.deepEqual([await ruth.isLoggedIn(one.token), await ruth.isLoggedIn(two.token)], [false, true])
  assert.equal((await admin.delete(address)).status, 204)
  assert.equal(await ruth.isLoggedIn(two.token), false)
})

test('K1 from other networks than its own it is no valid token', async t => {
  const { service, ruth } = await started(t, { CARREL_TRUSTED_PROXIES: '127.0.0.1' })
  const { token } = await made(ruth, { networks: ['198.51.100.0/24', '2001:db8::/32', '192.0.2.1'] })
  const from = async (address: string) => {
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address }
    return (await service.client().status('/api/authn/status', headers)).authenticated
  }
  for (const [address, accepted] of [
    ['198.51.100.9', true],
    ['198.51.101.9', false],
    ['::ffff:198.51.100.9', true],
    ['2001:db8:ffff::1', true],
    ['2001:db9::1', false],
    ['192.0.2.1', true],
    ['192.0.2.2', false],
    ['unknown', false],
  ] as const)
    assert.equal(await from(address), accepted, address)
})

testOn(
  'sqlite',
  'K1 it expires at its end and at the end that the setting allows, and its last use is kept',
  async t => {
    const start = Date.now()
    t.mock.timers.enable({ apis: ['Date'], now: start })
    const to = (seconds: number) => t.mock.timers.setTime(start + seconds * 1000)
    const { service, ruth } = await started(t, {
      CARREL_ACCESS_TOKEN_LIFETIME: '600',
      CARREL_TOKEN_LIFETIME: '9000',
    })
    const short = await made(ruth, { expires: new Date(start + 300_000).toISOString() })
    const long = await made(ruth)
    assert.equal(Date.parse(long.expires), start + 600_000)
    to(299)
    assert.equal(await ruth.isLoggedIn(short.token), true)
    to(300)
    assert.deepEqual([await ruth.isLoggedIn(short.token), await ruth.isLoggedIn(long.token)], [false, true])
    const used = async () => Date.parse((await listOf(ruth)).find(({ id }) => id === long.id)?.lastUsed ?? '')
    await until('a use after 300 s', used, time => time >= start + 300_000)
    to(330)
    await ruth.isLoggedIn(long.token)
    to(361)
    await ruth.isLoggedIn(long.token)
    await until('a use after 361 s', used, time => time >= start + 361_000)
    to(600)
    assert.equal(await ruth.isLoggedIn(long.token), false)
    await service.stop()

    const env = { CARREL_ACCESS_TOKEN_LIFETIME: '0' }
    to(400)
    const none = await startService(t, { dataFolder: service.dataFolder, env })
    assert.equal(await none.client().isLoggedIn(long.token), false)
    const client = await none.loggedIn(ruthEmail)
    await assertProblem(await send(client, { name: 'x' }), 403, 'access-denied')
  },
)

test('K1 each thing that is wrong with what is wanted is named', async t => {
  const { ruth } = await started(t)
  const late = new Date(Date.now() + 400 * day).toISOString()
  for (const [wanted, says] of [
    [[], /object/],
    ['x', /object/],
    [null, /object/],
    [{}, /name is missing/],
    [{ name: '' }, /name must have 1 to 100 characters/],
    [{ name: ' ' }, /name must be a line/],
    [{ name: 'x'.repeat(101) }, /1 to 100/],
    [{ name: 'a\nb' }, /control/],
    [{ name: 'a\u202eb' }, /control/],
    [{ name: 5 }, /name must be a text, not a number/],
    [{ name: 'a', scope: {} }, /scope is unknown; known are name, methods/],
    [{ name: 'a', methods: 'GET' }, /methods must be an array/],
    [{ name: 'a', methods: [] }, /methods must have 1 to 5 elements/],
    [{ name: 'a', methods: ['TRACE'] }, /GET, POST/],
    [{ name: 'a', methods: [1] }, /GET, POST/],
    [{ name: 'a', parts: ['all'] }, /query, items/],
    [{ name: 'a', entities: ['a b'] }, /entities/],
    [{ name: 'a', entities: Array.from({ length: 51 }, (_, at) => `e${at}`) }, /1 to 50/],
    [{ name: 'a', entities: ['birds'], parts: ['items'] }, /parts must be \["query"\]/],
    [{ name: 'a', networks: ['10.0.0.0/33'] }, /networks/],
    [{ name: 'a', networks: Array.from({ length: 21 }, () => '10.0.0.1') }, /at most 20/],
    [{ name: 'a', expires: 'tomorrow' }, /expires must be a time/],
    [{ name: 'a', expires: 5 }, /expires/],
    [{ name: 'a', expires: '2020-01-01T00:00:00Z' }, /in the future/],
    [{ name: 'a', expires: late }, /CARREL_ACCESS_TOKEN_LIFETIME/],
  ] as const) {
    const answer = await send(ruth, wanted)
    const { detail } = await assertProblem(answer, 422, 'access-token-invalid')
    assert.match(String(detail), says, JSON.stringify(wanted))
  }
  await assertProblem(await ruth.post(path, '{', { 'content-type': 'application/json' }), 400, 'bad-request')
  await assertProblem(
    await ruth.post(path, 'name=a', { 'content-type': 'text/plain' }),
    415,
    'unsupported-media-type',
  )
  assert.deepEqual(await listOf(ruth), [])
})

test('K1 an eperson has a bounded number of tokens, with names that differ, also of those made at once', async t => {
  const { ruth } = await started(t)
  const twice = await Promise.all([send(ruth, { name: 'same' }), send(ruth, { name: 'same' })])
  assert.deepEqual(twice.map(({ status }) => status).toSorted(), [201, 422])
  const names = Array.from({ length: maxAccessTokens + 2 }, (_, at) => `n${at}`)
  const statuses: number[] = []
  // In batches, because a slow machine would answer some of them with 503.
  while (names.length > 0) {
    const answers = await Promise.all(names.splice(0, 13).map(name => send(ruth, { name })))
    statuses.push(...answers.map(({ status }) => status))
  }
  assert.equal(statuses.filter(status => status === 201).length, maxAccessTokens - 1)
  assert.equal(statuses.filter(status => status === 422).length, 3)
})

testOn('postgres', 'K5 what is revoked on one node is refused on all others at once', async t => {
  const { nodes } = await startNodes(t, 3)
  const [first, ...others] = nodes
  assert.ok(first)
  const ruth = await first.addLoggedIn(ruthEmail)
  for (let round = 0; round < repeats(2, 10); round++) {
    const { id, token } = await made(ruth)
    for (const node of others) assert.equal(await node.client().isLoggedIn(token), true)
    assert.equal((await ruth.delete(`${path}/${id}`)).status, 204)
    for (const node of others) assert.equal(await node.client().isLoggedIn(token), false)
  }
})

testOn('postgres', 'K1 the store has the hash of a token, not the token', async t => {
  const { service, ruth } = await started(t)
  const { token } = await made(ruth)
  const rows = await runSqlIn(service.dataFolder, 'SELECT t::text AS row FROM carrel.access_token t')
  assert.equal(rows.length, 1)
  assert.ok(!JSON.stringify(rows).includes(token.slice(23, 60)))
})

testOn('sqlite', 'K7 the audit trail names the token that something was done with', async t => {
  const { service, ruth, admin } = await started(t)
  const { bitstreams } = await putItem(service, 'i', anyEperson, [{ name: 'a.txt' }])
  const { id, token } = await made(ruth)
  const client = service.client()
  client.token = token
  await (await client.get(contentOf(bitstreams[0] ?? { uuid: '' }))).text()
  const [event] = await eventsOf(admin, 'download')
  assert.deepEqual([event?.method, event?.reason], ['access-token', `access token ${id}`])
})
