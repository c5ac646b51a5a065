import assert from 'node:assert/strict'
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { commandEvent } from '../../src/cli/store.ts'
import type { Store } from '../../src/features.ts'
import { RightsChanged } from '../../src/lib/errors.ts'
import type { Eperson } from '../../src/model/accounts.ts'
import type { AuditEvent } from '../../src/model/audit-events.ts'
import { isAlive, maxSessions } from '../../src/model/sessions.ts'
import { maxFamiliar } from '../../src/model/throttle.ts'
import { storeClient } from '../support/clients/store-client.ts'
import { storeTests } from '../support/service/stores.ts'

/** Declares tests of logins, sessions, single sign-on, access tokens and attempts in the store. */
const test = storeTests()

const window = { offset: 0, limit: 10 }
const inAnHour = () => Date.now() + 3_600_000

async function add({ people }: Store, email: string): Promise<Eperson> {
  const person = { email, firstName: null, lastName: null, passwordHash: 'a hash', administrator: false }
  const added = await people.addEperson(person, commandEvent('eperson.add'))
  assert.ok(added !== 'exists')
  return added
}

async function logIn(
  { people, sessions }: Store,
  { uuid, email }: Pick<Eperson, 'uuid' | 'email'>,
  event = eventOf(uuid),
) {
  const credentials = await people.credentials(email)
  assert.ok(credentials)
  const { passwordStamp } = credentials
  const begins = { begun: Date.now(), expires: inAnHour() }
  const begun = await sessions.begin({ uuid, passwordStamp, begins, renewedHash: null }, event)
  assert.ok(begun)
  return begun
}

const eventOf = (uuid: string, clientIp = '192.0.2.7'): AuditEvent => ({
  ...commandEvent('login'),
  eperson: uuid,
  actor: uuid,
  clientIp,
  method: 'password',
})

test('T4 a logout ends every session of the eperson, and logins begin others', async storage => {
  const { sessions } = storage
  const ada = await add(storage, 'ada@example.org')
  const first = await logIn(storage, ada)
  const second = await logIn(storage, ada)
  assert.ok(second.begun > first.begun)
  const session = await sessions.of(ada.uuid)
  assert.ok(session)
  assert.deepEqual(
    (await sessions.list(session)).map(({ begun, network }) => [begun, network]),
    [second, first].map(({ begun }) => [begun, '192.0.2.0/24']),
  )
  assert.equal(await sessions.stampOf(ada.uuid), session.stamp)
  await sessions.logout(ada.uuid, { ...eventOf(ada.uuid), event: 'logout' })
  const after = await sessions.of(ada.uuid)
  assert.notDeepEqual(after?.sessionKey, session.sessionKey)
  assert.notEqual(after?.stamp, session.stamp)
  assert.ok(after)
  assert.deepEqual(await sessions.list(after), [])
  const wrong = { uuid: ada.uuid, passwordStamp: 4711, renewedHash: null }
  const begins = { begun: Date.now(), expires: inAnHour() }
  assert.equal(await sessions.begin({ ...wrong, begins }, eventOf(ada.uuid)), undefined)
})

test('N2 one session ends by itself, or all others, and a refresh says when a session was used last', async storage => {
  const { sessions } = storage
  const bob = await add(storage, 'bob@example.org')
  const [first, second, third] = [
    await logIn(storage, bob),
    await logIn(storage, bob),
    await logIn(storage, bob),
  ]
  const key = third.session.sessionKey
  const own = { begun: third.begun, key }
  const event = { ...eventOf(bob.uuid), event: 'session.end' } as const
  assert.equal(await sessions.end(bob.uuid, first.begun, own, Date.now(), event), true)
  assert.equal(await sessions.end(bob.uuid, first.begun, own, Date.now(), event), false)
  const used = Date.now() + 5_000
  const { stamp } = third.session
  const refreshed = { begun: second.begun, used, expires: inAnHour(), stamp }
  await sessions.refresh(refreshed, { ...eventOf(bob.uuid), event: 'refresh', clientIp: '198.51.100.1' })
  const now = await sessions.of(bob.uuid)
  assert.ok(now)
  const listed = (await sessions.list(now)).find(({ begun }) => begun === second.begun)
  assert.deepEqual([listed?.used, listed?.used_network], [used, '198.51.100.0/24'])
  await sessions.endOthers(bob.uuid, own, event)
  const kept = await sessions.of(bob.uuid)
  assert.ok(kept)
  assert.deepEqual(
    (await sessions.list(kept)).map(({ begun }) => begun),
    [third.begun],
  )
  assert.equal(await sessions.forget(Date.now() + 24 * 3_600_000, ''), undefined)
  assert.deepEqual(await sessions.list(kept), [])
})

test('N1 sessions that begin in the same millisecond are told apart, and of more than a hundred the last are listed', async storage => {
  const { people, sessions } = storage
  const { uuid, email } = await add(storage, 'many@example.org')
  const { passwordStamp = 0 } = (await people.credentials(email)) ?? {}
  const begins = { begun: Date.now(), expires: inAnHour() }
  const login = { uuid, passwordStamp, begins, renewedHash: null }
  const numbers = Array.from({ length: maxSessions + 3 }, (_, at) => at)
  const begin = () => sessions.begin(login, eventOf(uuid))
  const begun = await Promise.all(Array.from({ length: maxSessions }, begin))
  for (let more = 0; more < 3; more++) begun.push(await begin())
  const inOrder = (all: readonly number[]) =>
    all.map(one => one - begins.begun).toSorted((one, other) => one - other)
  assert.deepEqual(inOrder(begun.map(one => one?.begun ?? 0)), numbers)
  const session = await sessions.of(uuid)
  assert.ok(session)
  assert.deepEqual(inOrder((await sessions.list(session)).map(one => one.begun)), numbers.slice(3))
})

test('N2 a session that ends while it is refreshed is not listed again', async storage => {
  const { sessions } = storage
  const kit = await add(storage, 'kit@example.org')
  const [own, other] = [await logIn(storage, kit), await logIn(storage, kit)]
  const { sessionKey, stamp } = own.session
  const refreshed = { begun: other.begun, used: Date.now(), expires: inAnHour(), stamp }
  const [ended] = await Promise.all([
    sessions.end(kit.uuid, other.begun, { begun: own.begun, key: sessionKey }, Date.now(), {
      ...eventOf(kit.uuid),
      event: 'session.end',
    }),
    ...Array.from({ length: 8 }, () =>
      sessions.refresh(refreshed, { ...eventOf(kit.uuid), event: 'refresh' }),
    ),
  ])
  assert.equal(ended, true)
  const session = await sessions.of(kit.uuid)
  assert.ok(session)
  assert.deepEqual(
    (await sessions.list(session)).map(({ begun }) => begun),
    [own.begun],
  )
})

test('V2 T6 of changes of one password at once, one is made, and only a session that is alive outlives it', async storage => {
  const { people, sessions } = storage
  const pat = await add(storage, 'pat@example.org')
  const begun = await logIn(storage, pat)
  const own = { begun: begun.begun, key: begun.session.sessionKey }
  const isOwnAlive = async () => {
    const session = await sessions.of(pat.uuid)
    return session !== undefined && isAlive(session, own)
  }
  const event = commandEvent('eperson.password')
  const change = async () => {
    const known = await people.credentials(pat.email)
    assert.ok(known)
    const set = () => people.setPassword({ uuid: pat.uuid }, 'another hash', event, { ...known, own })
    return (await Promise.all(Array.from({ length: 8 }, set))).toSorted()
  }
  const one = ['changed', ...Array(7).fill('unchanged')]
  assert.deepEqual(await change(), one)
  assert.equal(await isOwnAlive(), true)
  await sessions.logout(pat.uuid, { ...eventOf(pat.uuid), event: 'logout' })
  assert.deepEqual(await change(), one)
  assert.equal(await isOwnAlive(), false)
})

test('T12 a change that relies on a session which has changed meanwhile is not made', async storage => {
  const { sessions, alerts, accessTokens, people, processes, registry } = storage
  const eve = await add(storage, 'eve@example.org')
  const { session } = await logIn(storage, eve)
  const reliesOn = [{ uuid: eve.uuid, stamp: session.stamp }]
  await sessions.logout(eve.uuid, eventOf(eve.uuid))
  const relying = (event: AuditEvent['event']) => ({ ...commandEvent(event), reliesOn })
  const alert = { message: 'no', allowSessions: 'all', countdownTo: null, active: false } as const
  for (const change of [
    () => alerts.add(alert, relying('alert.change')),
    () => registry.addSchema({ prefix: 'x', namespace: 'x' }, relying('metadata-schema.add')),
    () => people.createGroup({ name: 'X', description: null }, relying('group.add')),
    () => people.removeEperson(eve.uuid, relying('eperson.delete')),
    () => accessTokens.revokeAll(eve.uuid, relying('token.revoke')),
    () =>
      processes.begin(
        { kind: 'clean', eperson: eve.uuid, parameters: {}, event: relying('process.start') },
        { owner: 'x', atOnce: null, waiting: 0 },
      ),
  ])
    await assert.rejects(change(), RightsChanged)
})

test('K1 access tokens have names of their own, are found until they end, and keep when they were used', async storage => {
  const { accessTokens, people } = storage
  const kim = await add(storage, 'kim@example.org')
  const token = (name: string) => ({
    id: randomUUID(),
    eperson: kim.uuid,
    name,
    hash: hash('sha256', name, 'buffer'),
    scope: { methods: ['GET'], parts: ['query'], entities: null } as const,
    networks: ['192.0.2.0/24'],
    created: Date.now(),
    expires: inAnHour(),
  })
  const event = commandEvent('token.add')
  const [one, two] = [token('one'), token('two')]
  for (const added of [one, two]) assert.equal(await accessTokens.add(added, event), 'added')
  assert.equal(await accessTokens.add(token('one'), event), 'name-taken')
  assert.equal(await accessTokens.add({ ...token('three'), eperson: randomUUID() }, event), 'no-eperson')
  await accessTokens.noteUse(one.id, 1_000_000)
  await accessTokens.noteUse(one.id, 1_000_001)
  const found = await accessTokens.find(one.id)
  assert.deepEqual({ ...found, hash: Buffer.from(found?.hash ?? []) }, { ...one, used: 1_000_000 })
  assert.deepEqual((await accessTokens.list(kim.uuid)).map(({ name }) => name).toSorted(), ['one', 'two'])
  assert.ok((await accessTokens.page(window)).total >= 2)
  assert.equal(await accessTokens.revoke(two.id, randomUUID(), commandEvent('token.revoke')), false)
  assert.equal(await accessTokens.revoke(two.id, kim.uuid, commandEvent('token.revoke')), true)
  assert.equal(await accessTokens.revokeAll(kim.uuid, commandEvent('token.revoke')), 1)
  assert.equal(await accessTokens.add(one, event), 'added')
  assert.equal(
    await people.setPassword({ email: kim.email }, 'another hash', commandEvent('eperson.password')),
    'changed',
  )
  assert.equal(await accessTokens.find(one.id), undefined)
  assert.equal(await accessTokens.revokeAll(kim.uuid, commandEvent('token.revoke')), 0)
})

test('X3 a subject of a provider is created, known again, found by the name that was given since, and a link is for one eperson', async storage => {
  const { people, identities } = storage
  const identity = {
    provider: 'uni',
    subject: 's-1',
    email: 'leo@example.org',
    firstName: 'Leo',
    lastName: null,
  }
  const matching = { byEmail: true, create: true }
  const event = commandEvent('login')
  assert.equal((await identities.whoIs(identity, matching)).kind, 'created')
  const created = await identities.recognize(identity, matching, event)
  assert.ok(created.kind === 'created' && created.eperson)
  const again = await identities.recognize({ ...identity, firstName: 'Leonie' }, matching, event)
  assert.ok(again.kind === 'known')
  assert.equal(again.eperson.uuid, created.eperson.uuid)
  assert.equal((await people.eperson(again.eperson.uuid))?.firstName, 'Leonie')
  const search = { text: 'leonie', membership: null }
  assert.equal((await people.findEpersons(search, window, storeClient)).total, 1)
  const mia = await add(storage, 'mia@example.org')
  const link = (subject: string) =>
    identities.link(mia.email, { provider: 'uni', subject }, commandEvent('eperson.link'))
  assert.equal(await link('s-1'), 'taken')
  assert.equal(await link('s-2'), 'changed')
  assert.equal(await link('s-2'), 'unchanged')
  assert.equal(await link('s-3'), 'other-subject')
  assert.deepEqual(
    (await identities.listIdentities(mia.uuid)).map(({ subject }) => subject),
    ['s-2'],
  )
  assert.ok((await identities.pageOfIdentities(window)).total >= 2)
  assert.ok((await identities.listIdentities()).length >= 2)
  const ned = await add(storage, 'ned@example.org')
  const sameAddress = { ...identity, subject: 's-4', email: 'NED@example.org' }
  const linked = await identities.recognize(sameAddress, matching, event)
  assert.deepEqual([linked.kind, linked.kind !== 'refused' && linked.eperson?.uuid], ['linked', ned.uuid])
  assert.equal(await identities.unlink(mia.email, 'uni', commandEvent('eperson.unlink')), 'changed')
  assert.equal(await identities.unlink(mia.email, 'uni', commandEvent('eperson.unlink')), 'unchanged')
})

test('X3 T4 a session at a provider is found by its name and id, and ends with every token of its eperson', async storage => {
  const { sessions, identities } = storage
  const nia = await add(storage, 'nia@example.org')
  const session = await sessions.of(nia.uuid)
  assert.ok(session)
  const atProvider = { provider: 'idp', name: 'nia', sid: 'abc', detail: { format: 'persistent' } }
  const begins = { begun: Date.now(), expires: inAnHour() }
  const login = { uuid: nia.uuid, sessionKey: session.sessionKey, session: atProvider, begins }
  assert.ok(await identities.begin(login, eventOf(nia.uuid)))
  assert.equal(
    await identities.begin({ ...login, sessionKey: randomBytes(32) }, eventOf(nia.uuid)),
    undefined,
  )
  const which = { provider: 'idp', name: 'nia', sid: 'abc' }
  assert.equal(await identities.isAtProvider(which), true)
  assert.equal(await identities.isAtProvider({ ...which, name: null, sid: 'xyz' }), false)
  assert.equal(await identities.endAtProvider(which, commandEvent('logout')), 1)
  assert.equal(await identities.isAtProvider(which), false)
  const ended = await sessions.of(nia.uuid)
  assert.notDeepEqual(ended?.sessionKey, session.sessionKey)
  // A session whose login waits for its factor is found as well, whatever characters its name has.
  await identities.noteAtProvider(nia.uuid, { ...atProvider, name: 'n\0a' })
  await identities.noteAtProvider(randomUUID(), atProvider)
  assert.equal(await identities.endAtProvider({ ...which, name: null }, commandEvent('logout')), 1)
  assert.notDeepEqual((await sessions.of(nia.uuid))?.sessionKey, ended?.sessionKey)
  await identities.forgetSessions(new Date())
})

test('X6 a ticket is good for one use until it expires', async ({ identities }) => {
  const id = randomUUID()
  const now = Date.now()
  assert.equal(await identities.keepTicket(id, 'content', now + 1_000, now), true)
  assert.equal(await identities.keepTicket(id, 'other', now + 1_000, now), false)
  assert.equal(await identities.readTicket(id, now), 'content')
  assert.equal(await identities.readTicket(id, now + 1_000), undefined)
  assert.equal(await identities.replaceTicket(id, 'other', 'content', now + 1_000), false)
  assert.equal(await identities.replaceTicket(id, 'content', 'other', now + 1_000), true)
  assert.equal(await identities.replaceTicket(id, 'other', 'content', now + 1_000), true)
  const taken = await Promise.all([1, 2, 3].map(() => identities.takeTicket(id, now)))
  assert.deepEqual(
    taken.filter(content => content !== undefined),
    ['content'],
  )
})

test('L8 attempts count as failures until they are taken back, each after the ones before', async storage => {
  const { attempts } = storage
  const keys = { 'account-and-network': 'a n', account: 'a', network: 'n', site: 's' }
  const attempt = { keys, eperson: null, network: '192.0.2.7' }
  assert.equal((await attempts.look(attempt)).wait, 0)
  const first = await attempts.begin(attempt)
  assert.equal(first.counted.length, 4)
  await attempts.takeBack(attempt, first)
  const many = await Promise.all(Array.from({ length: 12 }, () => attempts.begin(attempt)))
  assert.equal(many.filter(({ wait }) => wait === 0).length, 10)
  assert.ok((await attempts.look(attempt)).wait > 0)
})

test('L8 a login makes a network familiar to its eperson alone, and the last hundred networks stay so', async storage => {
  const { attempts, identities, people } = storage
  const [ivo, eva] = [await add(storage, 'ivo@example.org'), await add(storage, 'eva.l8@example.org')]
  const network = (at: number) => `198.51.100.${at}`
  const isFamiliar = async (eperson: string, at: number) => {
    const keys = { 'account-and-network': 'l8 an', account: 'l8 a', network: 'l8 n', site: 'l8 s' }
    return (await attempts.look({ keys, eperson, network: network(at) })).isFamiliar
  }
  await logIn(storage, ivo, eventOf(ivo.uuid, network(0)))
  // Times are in milliseconds: the first network must be older than the second.
  await setTimeout(5)
  for (let at = 1; at < maxFamiliar; at++) await logIn(storage, ivo, eventOf(ivo.uuid, network(at)))
  assert.deepEqual([await isFamiliar(ivo.uuid, 0), await isFamiliar(eva.uuid, 0)], [true, false])
  const { sessionKey } = (await storage.sessions.of(ivo.uuid)) ?? assert.fail('ivo is gone')
  const session = { provider: 'idp', name: 'ivo', sid: null, detail: {} }
  const begins = { begun: Date.now(), expires: inAnHour() }
  const login = { uuid: ivo.uuid, sessionKey, session, begins }
  assert.ok(await identities.begin(login, { ...eventOf(ivo.uuid, network(200)), method: 'saml' }))
  const seen = await Promise.all([0, 1, 99, 200].map(at => isFamiliar(ivo.uuid, at)))
  assert.deepEqual(seen, [false, true, true, true])
  assert.equal(await people.deleteEperson(ivo.email, commandEvent('eperson.delete')), 'changed')
  assert.equal(await isFamiliar(ivo.uuid, 200), false)
})

test('T11 the mark of the clock is kept', async ({ clock, ping }) => {
  const over = clock.now()
  await clock.keep(over)
  await ping()
  assert.ok(clock.kept() >= over)
  assert.ok(clock.afterLookUp() >= over)
  await clock.advance()
  assert.ok(clock.certain() <= clock.now())
  assert.ok(clock.behind() < 1_000)
  assert.ok(Math.abs(clock.skew() ?? 0) < 1_000)
})

test('T4 a logout of all ends every session, and the secrets change', async storage => {
  const { secrets, sessions } = storage
  const zoe = await add(storage, 'zoe@example.org')
  const { session } = await logIn(storage, zoe)
  assert.ok((await sessions.endAll(commandEvent('logout'))) >= 1)
  assert.notDeepEqual((await sessions.of(zoe.uuid))?.sessionKey, session.sessionKey)
  assert.equal(sessions.allowed(), 'all')
  assert.equal(await secrets.rotate(commandEvent('secret.rotate')), 2)
  assert.equal(secrets.current().length >= 1, true)
})
