import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { keepHouse } from '../../../src/cli/housekeeping.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import { maxEnded, maxSessions } from '../../../src/model/sessions.ts'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { eventsOf } from '../../support/data/events.ts'
import { anyEperson, contentOf, putItem } from '../../support/data/repository.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { begunOf, sessionLogin } from '../../support/data/sessions.ts'
import { isLong } from '../../support/scale.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { baseUrl, passwordOf, startService } from '../../support/service/service.ts'

const adminEmail = 'admin@example.org'
const path = '/api/authn/sessions'

interface Listed {
  readonly id: string
  readonly current: boolean
  readonly method: string
  readonly browser: string | null
  readonly begun: string
  readonly network: string | null
  readonly lastUsed: string
  readonly lastNetwork: string | null
  readonly expires: string
}

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env } })
  const { uuid } = await service.addEperson(ruthEmail)
  const { uuid: adminId } = await service.addEperson(adminEmail, { admin: true })
  const admin = await service.loggedIn(adminEmail)
  return { service, uuid, admin, adminId }
}

async function listOf(client: Client): Promise<readonly Listed[]> {
  const answer = await client.get(path)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { _embedded: { sessions: Listed[] } })._embedded.sessions
}

async function ownId(client: Client): Promise<string> {
  const own = (await listOf(client)).filter(({ current }) => current)
  assert.equal(own.length, 1)
  return own[0]?.id ?? ''
}

/** Returns the lease from the answer of a download, as the client sends it back. */
function leaseIn(answer: Response): string {
  const cookie = answer.headers.getSetCookie().find(one => one.startsWith('CARREL-LEASE='))
  assert.ok(cookie)
  return cookie.split(';')[0] ?? ''
}

const areLoggedIn = (clients: readonly Client[]) => Promise.all(clients.map(client => client.isLoggedIn()))

test('N1 the list has one’s own sessions: when and how they began, from which network, when used last, which is this one', async t => {
  const { service, admin } = await started(t, { CARREL_TRUSTED_PROXIES: '127.0.0.1' })
  const before = Date.now()
  const form = new URLSearchParams({ user: ruthEmail, password: passwordOf(ruthEmail) })
  const clients = []
  for (const address of ['198.51.100.77', '2001:db8:1:2::7']) {
    const client = service.client()
    const answer = await client.post('/api/authn/login', form, { 'x-forwarded-for': address })
    client.token = answer.headers.get('authorization')?.slice(7)
    clients.push(client)
  }
  const [first, second] = clients
  assert.ok(first && second)
  const answer = await first.get(path)
  const body = (await answer.json()) as { _embedded: { sessions: Listed[] }; page: object; _links: object }
  assert.deepEqual(body.page, { number: 0, size: 20, totalPages: 1, totalElements: 2 })
  assert.deepEqual(body._links, { self: { href: `${baseUrl}${path}` } })
  const [newer, older] = body._embedded.sessions
  assert.ok(newer && older)
  assert.deepEqual(
    [newer.network, newer.current, older.network, older.current],
    ['2001:db8:1::/48', false, '198.51.100.0/24', true],
  )
  assert.equal(older.method, 'password')
  assert.ok(Date.parse(older.begun) >= before && Date.parse(older.begun) <= Date.now())
  assert.equal(older.lastUsed, older.begun)
  assert.equal(Date.parse(older.expires) - Date.parse(older.begun), 1_800_000)
  assert.deepEqual(await (await first.get(`${path}/${older.id}`)).json(), older)

  const refresh = await first.post('/api/authn/login', undefined, { 'x-forwarded-for': '203.0.113.9' })
  assert.equal(refresh.status, 200)
  const refreshed = (await listOf(first)).find(({ id }) => id === older.id)
  assert.deepEqual(
    [refreshed?.network, refreshed?.lastNetwork, refreshed?.begun],
    ['198.51.100.0/24', '203.0.113.0/24', older.begun],
  )
  assert.ok(Date.parse(refreshed?.lastUsed ?? '') >= Date.parse(older.lastUsed))
  assert.equal((await listOf(admin)).length, 1, 'nobody else’s')
})

test('N1 a session says from which browser it is, whatever the header has', async t => {
  const { service } = await started(t)
  const form = new URLSearchParams({ user: ruthEmail, password: passwordOf(ruthEmail) })
  for (const [header, name] of [
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox (Windows)'],
    ['curl/8.5.0', 'curl'],
    [`${'x'.repeat(4_000)}`, null],
    [`<script>alert(1)</script>`, null],
    [`'; DROP TABLE session; --`, null],
    ['', null],
  ] as const) {
    const client = service.client()
    const answer = await client.post('/api/authn/login', form, { 'user-agent': header })
    client.token = answer.headers.get('authorization')?.slice(7)
    const own = (await listOf(client)).find(({ current }) => current)
    assert.equal(own?.browser, name, header)
    // A refresh keeps it, also with another program.
    assert.equal((await client.post('/api/authn/login', undefined, { 'user-agent': 'wget' })).status, 200)
    assert.equal((await listOf(client)).find(({ id }) => id === own?.id)?.browser, name)
  }
})

test('N2 ending one session ends its tokens of each kind at once, and no others', async t => {
  const { service, uuid, admin } = await started(t)
  const [own, other, third] = [
    await service.loggedIn(ruthEmail),
    await service.loggedIn(ruthEmail),
    await service.loggedIn(ruthEmail),
  ]
  const refreshed = await other.refresh()
  const { bitstreams } = await putItem(service, 'i', anyEperson, [{ name: 'a.txt' }])
  const [bitstream] = bitstreams
  assert.ok(bitstream)
  const content = contentOf(bitstream)
  const lease = leaseIn(await other.get(content))
  const opens = async () => (await service.client().get(content, { cookie: lease })).status
  assert.equal(await opens(), 200)
  const id = await ownId(other)
  const shortLived = await other.shortLivedToken()
  assert.equal((await own.delete(`${path}/${id}`)).status, 204)
  assert.deepEqual(await areLoggedIn([own, other, third]), [true, false, true])
  assert.equal(await own.isLoggedIn(refreshed), false)
  const status = await service.client().status(`/api/authn/status?authentication-token=${shortLived}`)
  assert.equal(status.authenticated, false)
  await assertUnauthorized(await other.get(path))
  assert.equal((await other.post('/api/authn/login')).status, 401)
  assert.equal((await listOf(own)).length, 2)
  await assertProblem(await own.delete(`${path}/${id}`), 404, 'not-found')
  assert.deepEqual(
    (await eventsOf(admin, 'session.end')).map(({ eperson, actor, object }) => [eperson, actor, object]),
    [[uuid, uuid, id]],
  )
  assert.equal(await opens(), 401)
})

test('N2 one’s own session can be ended too, and the others go on', async t => {
  const { service } = await started(t)
  const [own, other] = [await service.loggedIn(ruthEmail), await service.loggedIn(ruthEmail)]
  assert.equal((await own.delete(`${path}/${await ownId(own)}`)).status, 204)
  assert.deepEqual(await areLoggedIn([own, other]), [false, true])
  assert.equal((await listOf(other)).length, 1)
})

test('N2 an id is only ever one of one’s own: others’ are as unknown as those that never were', async t => {
  const { service, admin } = await started(t)
  const ruth = await service.loggedIn(ruthEmail)
  const id = await ownId(ruth)
  for (const [client, wrong] of [
    [admin, id],
    [ruth, await ownId(admin)],
    ...['0', '-1', '1.5', '01', `${id}x`, '9'.repeat(30), '%00', 'current'].map(one => [ruth, one] as const),
  ] as const)
    await assertProblem(await client.delete(`${path}/${wrong}`), 404, 'not-found')
  assert.deepEqual(await areLoggedIn([ruth, admin]), [true, true])
})

test('N3 ending all others leaves the one that asks, in which everything goes on', async t => {
  const { service } = await started(t)
  const own = await service.loggedIn(ruthEmail)
  const others = [await service.loggedIn(ruthEmail), await service.loggedIn(ruthEmail)]
  const refreshed = await own.refresh()
  assert.equal((await own.delete(path)).status, 204)
  assert.deepEqual(await areLoggedIn([own, ...others]), [true, false, false])
  assert.equal(await own.isLoggedIn(refreshed), true)
  assert.equal(await own.isLoggedIn(await own.refresh()), true)
  await own.withShortLived(async shortLived => {
    const status = await service.client().status(`/api/authn/status?authentication-token=${shortLived}`)
    assert.equal(status.authenticated, true)
  })
  assert.deepEqual(
    (await listOf(own)).map(({ current }) => current),
    [true],
  )

  // Ended again, and then from the newer of two sessions.
  const later = await service.loggedIn(ruthEmail)
  assert.deepEqual(await areLoggedIn([own, later]), [true, true])
  assert.equal((await own.delete(path)).status, 204)
  assert.deepEqual(await areLoggedIn([own, later]), [true, false])
  const newest = await service.loggedIn(ruthEmail)
  assert.equal((await newest.delete(path)).status, 204)
  assert.deepEqual(await areLoggedIn([own, newest]), [false, true])
})

test('N3 T4 a logout ends the session that was left when all others were ended, and so does each other way', async t => {
  const { service, admin, uuid } = await started(t)
  const { people, sessions } = service.storage
  const ways: readonly ((own: Client) => Promise<unknown>)[] = [
    own => own.post('/api/authn/logout'),
    () => people.setPassword({ email: ruthEmail }, 'none', commandEvent('eperson.password')),
    () => sessions.endAll(commandEvent('logout')),
    () => admin.delete(`/api/eperson/epersons/${uuid}/sessions`),
    async () => {
      await people.setEnabled(ruthEmail, false, commandEvent('eperson.disable'))
      await people.setEnabled(ruthEmail, true, commandEvent('eperson.enable'))
    },
  ]
  for (const [at, way] of ways.entries()) {
    const begun = await sessionLogin(service, ruthEmail)
    const own = service.client()
    own.token = begun
    assert.equal((await own.delete(path)).status, 204)
    assert.equal(await own.isLoggedIn(), true)
    await way(own)
    assert.equal(await own.isLoggedIn(), false, `way ${at}`)
    if (!(await admin.isLoggedIn())) await admin.login(adminEmail)
  }
})

test('N1 of more sessions than are listed, those used last are; the rest end with all others', async t => {
  const { service } = await started(t)
  const tokens = []
  for (let at = 0; at < maxSessions + 3; at++) tokens.push(await sessionLogin(service, ruthEmail))
  const own = service.client()
  own.token = tokens.at(-1)
  const page = (await (await own.get(`${path}?size=1000`)).json()) as { page: { totalElements: number } }
  assert.equal(page.page.totalElements, maxSessions)
  assert.equal(await own.isLoggedIn(tokens[0]), true)
  assert.equal((await own.delete(path)).status, 204)
  for (const token of [tokens[0], tokens[50]]) assert.equal(await own.isLoggedIn(token), false)
  assert.equal(await own.isLoggedIn(), true)
})

test('N2 when the list of ended sessions is full, ending one more ends all others', async t => {
  const { service } = await started(t)
  const [own, bystander] = [await sessionLogin(service, ruthEmail), await sessionLogin(service, ruthEmail)]
  const client = service.client()
  client.token = own
  for (let at = 0; at <= maxEnded; at++) {
    const token = await sessionLogin(service, ruthEmail)
    // Until the list of ended sessions is nearly full, each round is like the one before.
    const isLookedAt = isLong || at === 0 || at >= maxEnded - 1
    if (isLookedAt) assert.equal(await client.isLoggedIn(bystander), true)
    assert.equal((await client.delete(`${path}/${begunOf(token)}`)).status, 204)
    if (isLookedAt) assert.equal(await client.isLoggedIn(token), false)
  }
  assert.equal(await client.isLoggedIn(bystander), false)
})

test('N5 an administrator ends all sessions of someone', async t => {
  const { service, uuid, admin, adminId } = await started(t)
  const [one, other] = [await service.loggedIn(ruthEmail), await service.loggedIn(ruthEmail)]
  const address = `/api/eperson/epersons/${uuid}/sessions`
  await assertProblem(
    await admin.delete('/api/eperson/epersons/00000000-0000-4000-8000-000000000000/sessions'),
    404,
    'not-found',
  )
  assert.deepEqual(await areLoggedIn([one, other]), [true, true])
  assert.equal((await admin.delete(address)).status, 204)
  assert.deepEqual(await areLoggedIn([one, other, admin]), [false, false, true])
  assert.deepEqual(
    (await eventsOf(admin, 'session.end')).map(({ eperson, actor, object }) => [eperson, actor, object]),
    [[uuid, adminId, 'all']],
  )
})

test('N2 what was made while acting ends with the administrator’s session', async t => {
  const { service, uuid, admin } = await started(t)
  const other = await service.loggedIn(adminEmail)
  const id = await ownId(other)
  const accepted = async (made: string) =>
    (await service.client().status(`/api/authn/status?authentication-token=${made}`)).authenticated
  const made = await other.withShortLived(
    async token => {
      assert.equal(await accepted(token), true)
      return token
    },
    { 'x-on-behalf-of': uuid },
  )
  assert.equal((await admin.delete(`${path}/${id}`)).status, 204)
  assert.equal(await accepted(made), false)
})

test('N1 T6 races: whatever is ended while it is refreshed or ends others stays ended', async t => {
  const { service } = await started(t)
  for (let round = 0; round < 8; round++) {
    const [own, other] = [await service.loggedIn(ruthEmail), await service.loggedIn(ruthEmail)]
    const id = await ownId(other)
    const [ended, refreshed, others] = await Promise.all([
      own.delete(`${path}/${id}`),
      other.post('/api/authn/login'),
      other.delete(path),
    ])
    const token = refreshed.headers.get('authorization')?.slice(7)
    if (ended.status === 204) {
      assert.equal(await other.isLoggedIn(), false)
      if (token) assert.equal(await other.isLoggedIn(token), false)
      const left = await areLoggedIn([own])
      assert.equal(left[0], others.status !== 204 || left[0])
    } else assert.equal(others.status, 204, `own was ended first: ${ended.status}`)
  }
})

testOn('sqlite', 'N1 what can’t be alive any more is not listed, and its row goes', async t => {
  const start = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now: start })
  const { service, uuid } = await started(t, { CARREL_TOKEN_LIFETIME: '60' })
  await service.loggedIn(ruthEmail)
  t.mock.timers.setTime(start + 61_000)
  const ruth = await service.loggedIn(ruthEmail)
  assert.equal((await listOf(ruth)).length, 1)
  await (await keepHouse(service.storage, service.config))()
  const session = await service.storage.sessions.of(uuid)
  assert.ok(session)
  assert.equal((await service.storage.sessions.list(session)).length, 1)
})
