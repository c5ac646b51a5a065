import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createTickets } from '../../../src/authn/tickets.ts'
import { keepHouse } from '../../../src/cli/housekeeping.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem, assertUnauthorized } from '../../support/clients/answers.ts'
import { begunOf, claimsOf, keyOf, sessionKey, signed } from '../../support/clients/jwt.ts'
import { addItem, anyEperson, contentOf } from '../../support/data/repository.ts'
import { beginsNow } from '../../support/data/sessions.ts'
import { testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { startService } from '../../support/service/service.ts'

const email = 'ruth@example.org'
const hour = 3_600

/** Nodes on PostgreSQL go by its clock, which can't be shifted from here; `nodes/clocks` tests those. */
const test = (name: string, work: (t: TestContext) => Promise<void>) => testOn('sqlite', name, work)

/** @returns a function that sets the clock of this process to a number of seconds after this call */
function shiftable(t: TestContext): (seconds: number) => void {
  const start = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now: start })
  return seconds => t.mock.timers.setTime(start + seconds * 1000)
}

/** Starts a service with a logged-in eperson. */
async function start(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env })
  const { uuid } = await service.addEperson(email)
  const client = service.client()
  const token = await client.login(email)
  return { service, uuid, client, token, begun: begunOf(token) }
}

test('T11 a session can be refreshed until its lifetime after the login, and no token outlives it', async t => {
  const to = shiftable(t)
  const { client, begun } = await start(t, { CARREL_SESSION_LIFETIME: String(hour) })
  const end = begun / 1000 + hour
  for (const minutes of [20, 40, 59]) {
    to(minutes * 60)
    client.token = await client.refresh()
    assert.equal(begunOf(client.token), begun)
    assert.ok(claimsOf(client.token).exp <= end, `after ${minutes} minutes`)
  }
  assert.equal(claimsOf(client.token ?? '').exp, Math.floor(end))
  to(hour - 1)
  assert.equal(await client.isLoggedIn(), true)
  to(hour + 1)
  assert.equal(await client.isLoggedIn(), false)
  await assertProblem(await client.post('/api/authn/login'), 401, 'login-failed')
  const again = await client.login(email)
  assert.ok(begunOf(again) > begun)
  assert.equal(await client.isLoggedIn(), true)
})

test('T11 without a session lifetime, tokens can be refreshed without end', async t => {
  const to = shiftable(t)
  const { client, begun } = await start(t, { CARREL_TOKEN_LIFETIME: '31536000' })
  for (const days of [300, 600, 900]) {
    to(days * 24 * hour)
    client.token = await client.refresh()
  }
  assert.equal(begunOf(client.token ?? ''), begun)
})

test('T11 short-lived tokens, leases and acting on behalf end with the session', async t => {
  const to = shiftable(t)
  const env = { CARREL_SESSION_LIFETIME: '100', CARREL_LOGIN_ON_BEHALF_OF: 'true' }
  const { service, uuid, client, begun } = await start(t, env)
  const file = { name: 'a.txt', content: 'text', readers: anyEperson }
  const { bitstreams } = await addItem(service, { identifier: 'a/1', files: [file] })
  const path = contentOf(bitstreams[0] ?? { uuid: '' })
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  const acting = { 'x-on-behalf-of': uuid }
  const stranger = service.client()

  const leases: string[] = []
  for (const headers of [{}, acting]) {
    const response = await (headers === acting ? admin : client).get(path, headers)
    assert.equal(response.status, 200)
    const [lease = ''] = response.headers.getSetCookie().filter(one => one.startsWith('CARREL-LEASE='))
    leases.push(lease.split(';')[0] ?? '')
  }
  to(99)
  const short = [await client.shortLivedToken(), await admin.shortLivedToken(acting)]
  assert.equal(claimsOf(short[0] ?? '').exp, begun / 1000 + 100)
  const answers = async () => [
    ...(await Promise.all(leases.map(cookie => stranger.get(path, { cookie })))),
    ...(await Promise.all(short.map(token => stranger.get(`${path}?authentication-token=${token}`)))),
    await admin.get(path, acting),
  ]
  for (const { status } of await answers()) assert.equal(status, 200)
  to(101)
  const [lease, actingLease, byToken, byActingToken, onBehalf] = await answers()
  for (const response of [lease, actingLease, byToken, byActingToken]) {
    assert.ok(response)
    await assertUnauthorized(response)
  }
  assert.equal(onBehalf?.status, 403)
})

test('T11 a change of the lifetime applies to sessions that have begun', async t => {
  const to = shiftable(t)
  const { service, token } = await start(t, { CARREL_TOKEN_LIFETIME: String(10 * hour) })
  await service.stop()
  const { dataFolder } = service
  to(hour)
  for (const [lifetime, expected] of [
    ['1800', false],
    ['', true],
    [String(hour - 60), false],
    [String(hour + 60), true],
  ] as const) {
    const env = { CARREL_SESSION_LIFETIME: lifetime, CARREL_TOKEN_LIFETIME: String(10 * hour) }
    const changed = await startService(t, { dataFolder, env })
    assert.equal(await changed.client().isLoggedIn(token), expected, `a lifetime of ${lifetime}`)
    await changed.stop()
  }
})

test('T8 T11 a client can neither change nor remove the begin of its session', async t => {
  const { service, uuid, client, token, begun } = await start(t)
  const [, payload = '', signature = ''] = token.split('.')
  const named = (kid: unknown) => JSON.stringify({ alg: 'HS256', typ: 'JWT', kid })
  const right = named(String(begun))
  const headers = {
    later: named(String(begun + 1000)),
    removed: '{"alg":"HS256","typ":"JWT"}',
    'a number': named(begun),
    'a leading zero': named(`0${begun}`),
    'a fraction': named(`${begun}.0`),
    'other digits': named('1e12'),
    'in another place': `{"kid":"${begun}","alg":"HS256","typ":"JWT"}`,
    'given twice': right.replace('}', `,"kid":"${begun}"}`),
    'with a space': right.replace(',"kid"', ', "kid"'),
    'one more member': right.replace('}', ',"x":1}'),
  }
  const key = await keyOf(service, uuid)
  const claims = Buffer.from(payload, 'base64url').toString()
  assert.equal(await client.isLoggedIn(signed(right, claims, sessionKey(key, begun))), true)
  for (const [what, header] of Object.entries(headers)) {
    const encoded = Buffer.from(header).toString('base64url')
    assert.equal(await client.isLoggedIn(`${encoded}.${payload}.${signature}`), false, what)
    // The key of the session doesn't help, either.
    for (const own of [sessionKey(key, begun), key])
      assert.equal(await client.isLoggedIn(signed(header, claims, own)), false, what)
  }
  const tomorrow = begun + 25 * hour * 1000
  assert.equal(
    await client.isLoggedIn(signed(named(String(tomorrow)), claims, sessionKey(key, tomorrow))),
    false,
    'a session that has not begun',
  )
})

test('T11 sessions at providers are forgotten when theirs has ended', async t => {
  const to = shiftable(t)
  const { service, uuid } = await start(t, { CARREL_SESSION_LIFETIME: String(hour) })
  const { sessions, identities } = service.storage
  const session = { provider: 'company', name: 'ruth', sid: null, detail: {} }
  const { sessionKey: key = new Uint8Array() } = (await sessions.of(uuid)) ?? {}
  assert.ok(
    await identities.begin({ uuid, sessionKey: key, session, begins: beginsNow() }, commandEvent('login')),
  )
  const ended = () => identities.endAtProvider(session, commandEvent('logout'))
  const stop = await keepHouse(service.storage, service.config)
  to(hour + 60)
  await stop()
  assert.equal(await ended(), 0)
  // Without a lifetime of sessions, nothing is forgotten.
  const { sessionKey: next = new Uint8Array() } = (await sessions.of(uuid)) ?? {}
  assert.ok(
    await identities.begin({ uuid, sessionKey: next, session, begins: beginsNow() }, commandEvent('login')),
  )
  to(10_000 * hour)
  await (await keepHouse(service.storage, { ...service.config, sessionLifetime: null }))()
  assert.equal(await ended(), 1)
})

test('T11 a clock that is far ahead for a moment removes neither sessions at providers nor tickets', async t => {
  const to = shiftable(t)
  const { service, uuid } = await start(t, { CARREL_SESSION_LIFETIME: String(hour) })
  const { sessions, clock, identities } = service.storage
  const tickets = createTickets(identities, clock)
  const session = { provider: 'company', name: 'ruth', sid: null, detail: {} }
  const { sessionKey = new Uint8Array() } = (await sessions.of(uuid)) ?? {}
  assert.ok(await identities.begin({ uuid, sessionKey, session, begins: beginsNow() }, commandEvent('login')))
  const stop = await keepHouse(service.storage, service.config)
  await tickets.keep('acting', 'read', { of: 'ruth' }, 60)
  await tickets.keep('trade', 'taken', { of: 'ruth' }, 60)
  assert.equal(await tickets.isFirst('state', 'used', 60), true)

  to(100 * 24 * hour)
  assert.equal(await tickets.read('acting', 'read'), undefined)
  assert.equal(await tickets.take('trade', 'taken'), undefined)
  await tickets.isFirst('state', 'another', 60)
  await stop()

  to(1)
  assert.deepEqual(await tickets.read('acting', 'read'), { of: 'ruth' })
  assert.deepEqual(await tickets.take('trade', 'taken'), { of: 'ruth' })
  assert.equal(await tickets.take('trade', 'taken'), undefined)
  assert.equal(await tickets.isFirst('state', 'used', 60), false)
  assert.equal(await identities.endAtProvider(session, commandEvent('logout')), 1)
})

test('T11 a token of the command line has an age, too', async t => {
  const { service } = await start(t)
  const env = { CARREL_SESSION_LIFETIME: '60', CARREL_TOKEN_LIFETIME: '9000' }
  const { stdout } = await carrel(service.dataFolder, ['token', email], { env })
  const token = stdout.trim()
  assert.equal(claimsOf(token).exp, Math.floor(begunOf(token) / 1000) + 60)
  assert.equal(await service.client().isLoggedIn(token), true)
})
