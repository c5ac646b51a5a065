import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { hashOfRecoveryCode, newRecoveryCodes } from '../../src/authn/factor-codes.ts'
import { commandEvent } from '../../src/cli/store.ts'
import { maxFactors, maxTotp, type StoredFactor } from '../../src/model/factors.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { storeTests } from '../support/service/stores.ts'

/** Declares tests of second factors in the store. */
const test = storeTests()

async function add({ people }: Storage): Promise<string> {
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

async function withFactor(storage: Storage) {
  const eperson = await add(storage)
  const { hashes } = newRecoveryCodes(eperson)
  const factor = factorOf(eperson)
  assert.equal(await storage.factors.add(factor, hashes, null, added), 'added')
  return { eperson, factor, hashes }
}

const times = async <T>(count: number, work: () => Promise<T>) =>
  Promise.all(Array.from({ length: count }, work))

test('L12 of requests at once with one code, one gets in, and the counter never goes back', async storage => {
  const { factors } = storage
  const { eperson, factor } = await withFactor(storage)
  const uses = await times(10, () => factors.use(factor.id, 7, 2_000, null))
  assert.equal(uses.filter(Boolean).length, 1)
  assert.equal(await factors.use(factor.id, 6, 2_000, null), false)
  assert.equal(await factors.use(factor.id, 8, 3_000, Buffer.from('sealed again')), true)
  const [found] = (await factors.of(eperson)).factors
  assert.deepEqual(
    [found?.used, found?.counter, Buffer.from(found?.secret ?? []).toString()],
    [3_000, 8, 'sealed again'],
  )
  // Many passkeys have no counter.
  const passkey = passkeyOf(eperson)
  assert.equal(await factors.add(passkey, null, null, added), 'added')
  assert.equal(await factors.use(passkey.id, 0, 1, null), true)
  assert.equal(await factors.use(passkey.id, 0, 2, null), true)
  assert.equal(await factors.use(passkey.id, 3, 3, null), true)
  assert.equal(await factors.use(passkey.id, 0, 4, null), false)
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

test('L12 recovery codes have 120 bits, and are typed as people do', async () => {
  const { shown, hashes } = newRecoveryCodes('an eperson')
  assert.equal(new Set(shown).size, 10)
  for (const [at, code] of shown.entries()) {
    assert.match(code, /^([a-z0-9]{4}-){5}[a-z0-9]{4}$/)
    assert.equal(hashOfRecoveryCode('an eperson', ` ${code.toUpperCase().replaceAll('-', ' ')}`), hashes[at])
  }
})

test('L13 five guesses, counted before they are verified, and a right one is taken back', async storage => {
  const { factors } = storage
  const eperson = await add(storage)
  const waits = await times(8, () => factors.guess(eperson))
  assert.equal(waits.filter(wait => wait === 0).length, 5)
  assert.ok(waits.every(wait => wait === 0 || (wait > 3_500_000 && wait <= 3_600_000)))
  await factors.takeBack(eperson)
  assert.equal(await factors.guess(eperson), 0)
  assert.ok((await factors.guess(eperson)) > 0)
  assert.equal(await factors.guess(await add(storage)), 0)
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
  const { passwordStamp = -1 } = (await factors.withCredential(passkey.credential ?? '')) ?? {}
  const other = await add(storage)
  for (const [stamp, outcome] of [
    [passwordStamp + 1, 'no-eperson'],
    [passwordStamp, 'added'],
  ] as const)
    assert.equal(await factors.add(factorOf(other), hashes, stamp, added), outcome)
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
  assert.equal(await factors.reset(eperson, event), 0)
  assert.deepEqual(await factors.of(eperson), { factors: [], recoveryCodes: 0 })
  assert.notDeepEqual((await sessions.of(eperson))?.sessionKey, before?.sessionKey)

  const gone = await withFactor(storage)
  const passkey = passkeyOf(gone.eperson)
  await factors.add(passkey, null, null, added)
  assert.equal((await factors.withCredential(passkey.credential ?? ''))?.uuid, gone.eperson)
  await people.removeEperson(gone.eperson, commandEvent('eperson.delete'))
  assert.equal(await factors.withCredential(passkey.credential ?? ''), undefined)
  assert.equal((await factors.of(gone.eperson)).factors.length, 0)
})
