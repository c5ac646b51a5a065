import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { hashOfRecoveryCode, newRecoveryCodes } from '../../src/authn/factor-codes.ts'
import { commandEvent } from '../../src/cli/store.ts'
import type { Store } from '../../src/features.ts'
import { maxFactors, maxTotp, type StoredFactor } from '../../src/model/factors.ts'
import { beginsNow } from '../support/data/sessions.ts'
import { storeTests } from '../support/service/stores.ts'

/** Declares tests of second factors in the store. */
const test = storeTests()

async function add({ people }: Store): Promise<string> {
  const person = { firstName: null, lastName: null, passwordHash: 'a hash', administrator: false }
  const added = await people.addEperson(
    { email: `${randomUUID()}@example.org`, ...person },
    commandEvent('eperson.add'),
  )
  assert.ok(added !== 'exists')
  return added.uuid
}

const factorOf = (eperson: string, given: Partial<StoredFactor> = {}): StoredFactor => ({
  id: randomUUID(),
  eperson,
  kind: 'totp',
  name: 'a phone',
  alone: false,
  secret: Buffer.from('secret'),
  credential: null,
  counter: 0,
  created: 1_000,
  used: null,
  ...given,
})

const passkeyOf = (eperson: string, given: Partial<StoredFactor> = {}) =>
  factorOf(eperson, { kind: 'passkey', credential: randomUUID(), ...given })

const added = commandEvent('factor.add')

async function withFactor(storage: Store) {
  const eperson = await add(storage)
  const { hashes } = newRecoveryCodes(eperson)
  const factor = factorOf(eperson)
  assert.equal(await storage.factors.add(factor, hashes, null, added), 'added')
  return { eperson, factor, hashes }
}

const times = async <T>(count: number, work: () => Promise<T>) =>
  Promise.all(Array.from({ length: count }, work))

/** A use of a code of this step. */
const codeOf = ({ id }: StoredFactor, step: number, secret: Uint8Array | null = null) => [
  { id, step, secret },
]

test('S4 the standing of an account has its factors, its password, and whether a group makes it an administrator', async storage => {
  const { people, factors } = storage
  const { eperson } = await withFactor(storage)
  await factors.add(passkeyOf(eperson), null, null, added)
  await factors.add(passkeyOf(eperson), null, null, added)
  const other = { email: `${randomUUID()}@example.org`, firstName: null, lastName: null }
  const nested = await people.createEperson(
    { ...other, enabled: true, profile: {}, passwordHash: null },
    added,
  )
  assert.ok(nested !== 'exists')
  const [administrators, staff] = await people.ensureGroups(['Administrator', 'Staff'])
  assert.ok(administrators && staff)
  const include = (is: boolean) => people.setSubgroup(is, administrators.uuid, staff.uuid, added)
  await people.join('Staff', other.email, added)
  await include(true)
  const standings = async () => {
    const found = await people.standings([eperson, nested.uuid, randomUUID()])
    return new Map(found.map(({ uuid, ...one }) => [uuid, one]))
  }
  const first = { administrator: false, hasPassword: true, factors: ['passkey', 'totp'] }
  const second = { administrator: true, hasPassword: false, factors: [] }
  const both = new Map<string, object>([
    [eperson, first],
    [nested.uuid, second],
  ])
  assert.deepEqual(await standings(), both)
  assert.deepEqual(await people.standings([]), [])
})

test('L12 of requests at once with one code, one gets in, and the counter never goes back', async storage => {
  const { factors } = storage
  const { eperson, factor } = await withFactor(storage)
  const uses = await times(10, () => factors.guess(eperson, codeOf(factor, 7), 2_000))
  assert.deepEqual(uses.toSorted(), ['right', ...Array<string>(9).fill('wrong')])
  assert.equal(await factors.guess(eperson, codeOf(factor, 6), 2_000), 'wrong')
  assert.equal(await factors.guess(eperson, codeOf(factor, 8, Buffer.from('sealed again')), 3_000), 'right')
  const [found] = (await factors.of(eperson)).factors
  assert.deepEqual(
    [found?.used, found?.counter, Buffer.from(found?.secret ?? []).toString()],
    [3_000, 8, 'sealed again'],
  )
  // Many passkeys have no counter.
  const passkey = passkeyOf(eperson)
  assert.equal(await factors.add(passkey, null, null, added), 'added')
  assert.equal(await factors.use(passkey, 0, 1), true)
  assert.equal(await factors.use(passkey, 0, 2), true)
  assert.equal(await factors.use(passkey, 3, 3), true)
  assert.equal(await factors.use(passkey, 0, 4), false)
})

test('L12 a recovery code is used once, by one of many at once, and only by its owner', async storage => {
  const { factors } = storage
  const { eperson, hashes } = await withFactor(storage)
  const other = await withFactor(storage)
  const [code = '', next = ''] = hashes
  const event = { ...commandEvent('factor.recover'), eperson }
  assert.equal(await factors.useCode(other.eperson, code, event), undefined)
  const uses = await times(10, () => factors.useCode(eperson, code, event))
  assert.deepEqual(
    uses.filter(left => left !== undefined),
    [9],
  )
  assert.equal(await factors.replaceCodes(eperson, other.hashes, commandEvent('factor.codes')), true)
  assert.equal(await factors.useCode(eperson, next, event), undefined)
  assert.equal((await factors.of(eperson)).recoveryCodes, 10)
  assert.equal(await factors.replaceCodes(await add(storage), hashes, commandEvent('factor.codes')), false)
})

test('L12 recovery codes have 80 bits, are typed as people do, and those of 120 bits go on', async () => {
  const { shown, hashes } = newRecoveryCodes('an eperson')
  assert.equal(new Set(shown).size, 10)
  for (const [at, code] of shown.entries()) {
    assert.match(code, /^([a-z0-9]{4}-){3}[a-z0-9]{4}$/)
    for (const typed of [
      ` ${code.toUpperCase().replaceAll('-', ' ')}`,
      code.replaceAll('-', '\u2011'),
      code.replaceAll('-', '–').replaceAll('0', 'O'),
      code.replaceAll('-', ''),
      code.replaceAll(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit))),
    ])
      assert.equal(hashOfRecoveryCode('an eperson', typed), hashes[at], typed)
  }
  const old = 'abcdefghjkmnpqrstuvwxy02'
  const stored = hash('sha256', `an eperson\n${old}`, 'base64url')
  assert.equal(hashOfRecoveryCode('an eperson', 'ABCD-EFGH-JKMN-PQRS-TUVW-XY02'), stored)
})

/** Counts wrong codes, all at once. @returns the number of those that were looked at */
async function guesses({ factors }: Store, eperson: string, count: number): Promise<number> {
  const outcomes = await times(count, () => factors.guess(eperson, [], 1))
  for (const outcome of outcomes)
    if (typeof outcome === 'object') assert.ok(outcome.wait > 3_500_000 && outcome.wait <= 3_600_000)
  return outcomes.filter(outcome => outcome === 'wrong').length
}

test('L13 wrong codes at once get five guesses, and then a right one has to wait, too', async storage => {
  const { eperson, factor } = await withFactor(storage)
  assert.equal(await guesses(storage, eperson, 8), 5)
  assert.equal(typeof (await storage.factors.guess(eperson, codeOf(factor, 7), 1)), 'object')
  // Nothing was used: an hour later, the code of that step would be right.
  assert.equal((await storage.factors.of(eperson)).factors[0]?.counter, 0)
  assert.equal(await guesses(storage, (await withFactor(storage)).eperson, 1), 1)
})

test('L13 a code that was used is no guess, however often it is sent at once', async storage => {
  const { factors } = storage
  const { eperson, factor } = await withFactor(storage)
  assert.equal(await guesses(storage, eperson, 4), 4)
  const outcomes = await times(12, () => factors.guess(eperson, codeOf(factor, 7), 2_000))
  assert.deepEqual(outcomes.toSorted(), ['right', ...Array<string>(11).fill('wrong')])
  // The right one ended the count.
  assert.equal(await guesses(storage, eperson, 6), 5)
  const replays = await times(3, () => factors.guess(eperson, codeOf(factor, 7), 2_000))
  assert.deepEqual(
    replays.map(outcome => typeof outcome),
    ['object', 'object', 'object'],
  )
})

test('L13 whatever proves a factor, and what removes one, ends the count of guesses', async storage => {
  const { factors } = storage
  const { eperson, factor, hashes } = await withFactor(storage)
  const passkey = passkeyOf(eperson)
  assert.equal(await factors.add(passkey, null, null, added), 'added')
  const [code = ''] = hashes
  const event = { ...commandEvent('factor.recover'), eperson }
  const fail = [
    async () => assert.equal(await factors.useCode(eperson, 'unknown', event), undefined),
    async () => assert.equal(await factors.use(passkey, 4, 1), false),
    async () =>
      assert.equal(await factors.remove(randomUUID(), eperson, commandEvent('factor.remove')), false),
  ]
  assert.equal(await factors.use(passkey, 5, 1), true)
  assert.equal(await guesses(storage, eperson, 5), 5)
  for (const act of fail) await act()
  assert.equal(await guesses(storage, eperson, 1), 0)
  const end = [
    async () => assert.equal(await factors.useCode(eperson, code, event), 9),
    async () => assert.equal(await factors.use(passkey, 6, 1), true),
    async () => assert.equal(await factors.remove(factor.id, eperson, commandEvent('factor.remove')), true),
    async () => assert.equal(await factors.reset(eperson, commandEvent('factor.reset')), 1),
  ]
  for (const act of end) {
    await act()
    assert.equal(await guesses(storage, eperson, 6), 5)
  }
})

test('L13 uses, guesses, removals and a reset at once all come to an end', async storage => {
  const { factors } = storage
  const { eperson, factor, hashes } = await withFactor(storage)
  const passkey = passkeyOf(eperson)
  assert.equal(await factors.add(passkey, null, null, added), 'added')
  const event = { ...commandEvent('factor.recover'), eperson }
  await Promise.all([
    ...Array.from({ length: 5 }, (_, step) => factors.guess(eperson, codeOf(factor, step + 1), 1)),
    ...hashes.map(hash => factors.useCode(eperson, hash, event)),
    ...Array.from({ length: 5 }, (_, step) => factors.use(passkey, step + 1, 1)),
    factors.remove(factor.id, eperson, commandEvent('factor.remove')),
    factors.reset(eperson, commandEvent('factor.reset')),
  ])
  assert.deepEqual(await factors.of(eperson), { factors: [], recoveryCodes: 0 })
})

test('L15 of enrolments at once, one is the first and brings the recovery codes', async storage => {
  const { factors } = storage
  const eperson = await add(storage)
  const { hashes } = newRecoveryCodes(eperson)
  const outcomes = await times(5, () => factors.add(factorOf(eperson), hashes, null, added))
  assert.deepEqual(outcomes.toSorted(), ['added', 'changed', 'changed', 'changed', 'changed'])
  const more = await times(maxTotp, () => factors.add(factorOf(eperson), null, null, added))
  assert.deepEqual(more.toSorted(), ['added', 'too-many'])
  const passkey = passkeyOf(eperson)
  assert.equal(await factors.add(passkey, null, null, added), 'added')
  assert.equal(await factors.add({ ...passkey, id: randomUUID() }, null, null, added), 'known')
  const rest = await times(maxFactors, () => factors.add(passkeyOf(eperson), null, null, added))
  assert.equal(rest.filter(one => one === 'added').length, maxFactors - maxTotp - 1)
})

test('T12 L17 an enrolment is finished only while its login goes on, and uses up the ticket of that login', async storage => {
  const { factors, identities, sessions } = storage
  const eperson = await add(storage)
  const { hashes } = newRecoveryCodes(eperson)
  const keyNow = async () => (await sessions.of(eperson))?.sessionKey ?? assert.fail()
  const now = 1_000
  const ticket = randomUUID()
  assert.equal(await identities.keepTicket(ticket, '{}', now + 1, 0), true)
  const by = { session: { begun: 0, key: await keyNow() }, ticket, stays: null }
  await sessions.logout(eperson, commandEvent('session.end', 'all'))
  assert.equal(await factors.add(factorOf(eperson), hashes, by, added), 'ended')
  const again = { ...by, session: { begun: 0, key: await keyNow() } }
  assert.equal(await factors.add(factorOf(eperson, { created: now + 1 }), hashes, again, added), 'ended')
  assert.deepEqual(await factors.of(eperson), { factors: [], recoveryCodes: 0 })
  const factor = factorOf(eperson)
  assert.equal(await factors.add(factor, hashes, again, added), 'added')
  assert.equal(await factors.remove(factor.id, eperson, commandEvent('factor.remove')), true)
  assert.equal(await factors.add(factorOf(eperson), hashes, again, added), 'ended')
  assert.equal(await factors.add(factorOf(eperson), hashes, { ...again, ticket: null }, added), 'added')
})

test('T12 L17 a login that a ticket stands for begins no session after an ending', async storage => {
  const { people, sessions } = storage
  const uuid = await add(storage)
  const email = (await people.eperson(uuid))?.email ?? assert.fail()
  const { passwordStamp, sessionKey } = (await people.credentials(email)) ?? assert.fail()
  const login = { uuid, passwordStamp, renewedHash: null, begins: beginsNow() }
  const event = { ...commandEvent('login'), eperson: uuid, method: 'password' }
  assert.ok(await sessions.begin({ ...login, sessionKey }, event))
  await sessions.logout(uuid, commandEvent('session.end', 'all'))
  assert.equal(await sessions.begin({ ...login, sessionKey }, event), undefined)
  // A password that is verified at the moment is a new login.
  assert.ok(await sessions.begin(login, event))
})

test('L15 factors are renamed and removed by their owner only, and recovery codes go with the last', async storage => {
  const { factors } = storage
  const { eperson, factor } = await withFactor(storage)
  const other = await withFactor(storage)
  const renamed = commandEvent('factor.change')
  const removed = commandEvent('factor.remove')
  assert.equal(await factors.rename(factor.id, other.eperson, 'mine', renamed), false)
  assert.equal(await factors.remove(factor.id, other.eperson, removed), false)
  assert.equal(await factors.rename(factor.id, eperson, 'an old phone', renamed), true)
  const passkey = passkeyOf(eperson, { alone: true, created: 2_000 })
  assert.equal(await factors.add(passkey, null, null, added), 'added')
  assert.equal(await factors.standsAlone(), true)
  const known = await factors.of(eperson)
  assert.deepEqual(
    known.factors.map(one => ({ ...one, secret: Buffer.from(one.secret) })),
    [{ ...factor, name: 'an old phone' }, passkey],
  )
  assert.equal(await factors.remove(factor.id, eperson, removed), true)
  assert.equal((await factors.of(eperson)).recoveryCodes, 10)
  assert.equal(await factors.remove(passkey.id, eperson, removed), true)
  assert.equal(await factors.standsAlone(), false)
  assert.equal(await factors.add(factorOf(eperson), [], null, added), 'added')
  assert.equal((await factors.of(eperson)).recoveryCodes, 0)
})

test('L17 a reset removes everything and ends all sessions; a deleted eperson leaves nothing', async storage => {
  const { factors, people, sessions } = storage
  const { eperson } = await withFactor(storage)
  const before = await sessions.of(eperson)
  const event = { ...commandEvent('factor.reset'), eperson }
  assert.equal(await factors.reset(eperson, event), 1)
  assert.deepEqual(await factors.of(eperson), { factors: [], recoveryCodes: 0 })
  const after = await sessions.of(eperson)
  assert.notDeepEqual(after?.sessionKey, before?.sessionKey)
  // The first factor may be on its way.
  assert.equal(await factors.reset(eperson, event), 0)
  assert.notDeepEqual((await sessions.of(eperson))?.sessionKey, after?.sessionKey)

  const gone = await withFactor(storage)
  const passkey = passkeyOf(gone.eperson)
  await factors.add(passkey, null, null, added)
  assert.equal((await factors.withCredential(passkey.credential ?? ''))?.uuid, gone.eperson)
  await people.removeEperson(gone.eperson, commandEvent('eperson.delete'))
  assert.equal(await factors.withCredential(passkey.credential ?? ''), undefined)
  assert.equal((await factors.of(gone.eperson)).factors.length, 0)
})
