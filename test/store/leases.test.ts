import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Store } from '../../src/features.ts'
import { storeTests } from '../support/service/stores.ts'

/** Declares tests of the leases by which one node does a piece of work. */
const test = storeTests()

const silence = 60_000
const elsewhere = JSON.stringify(['another machine', 1, null])

/** Makes a lease of another program. @param left the time in ms until it expires */
async function leased(
  { identities, clock }: Pick<Store, 'identities' | 'clock'>,
  owner: string,
  left: number,
) {
  const name = randomUUID()
  assert.equal(await identities.keepTicket(name, owner, clock.now() + left, 0), true)
  return name
}

test('R8 of programs that ask for a lease at once one gets it, and the next one when it is released', async ({
  lease,
}) => {
  const name = randomUUID()
  for (let round = 0; round < 3; round++) {
    const asked = await Promise.all(Array.from({ length: 5 }, () => lease(name, { silence })))
    const [hold, ...others] = asked.filter(one => one !== undefined)
    assert.ok(hold)
    assert.deepEqual(others, [])
    assert.equal(await hold.isOurs(), true)
    assert.equal(await lease(name, { silence }), undefined)
    await hold.release()
  }
})

test('R8 a lease ends with the silence of a node on another machine, and at once with a program of this one', async storage => {
  const alive = await leased(storage, elsewhere, silence)
  assert.equal(await storage.lease(alive, { silence }), undefined)

  const silent = await leased(storage, elsewhere, -1)
  const ended = await leased(storage, `${JSON.stringify([hostname(), 2 ** 30, '1'])}\nnumber`, silence)
  for (const name of [silent, ended]) {
    const asked = await Promise.all([1, 2].map(() => storage.lease(name, { silence })))
    assert.equal(asked.filter(one => one !== undefined).length, 1)
    await Promise.all(asked.map(one => one?.release()))
  }
})

test('R8 a program that has lost its lease learns so, and takes nothing back', async ({
  lease,
  identities,
  clock,
}) => {
  const name = randomUUID()
  let lost = 0
  const hold = await lease(name, { silence, onWanted: () => lost++ })
  assert.ok(hold)
  const own = await identities.readTicket(name, 0)
  assert.ok(own)
  await identities.replaceTicket(name, own, elsewhere, clock.now() + silence)
  assert.equal(await hold.isOurs(), false)
  assert.ok(lost > 0)
  await hold.release()
  assert.equal(await identities.readTicket(name, 0), elsewhere)
})
