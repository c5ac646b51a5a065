import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { commandEvent } from '../../src/cli/store.ts'
import { storeTests } from '../support/service/stores.ts'

/** Declares tests of what uploads and sweeps of a bucket agree on in the store. */
const test = storeTests()

const sha256 = () => randomBytes(32).toString('hex')
const hour = 60 * 60 * 1000
const later = hour + 1

test('F5 a sweep deletes what has been unused for an hour, and is not claimed', async ({ repository }) => {
  const [unused, claimed, late] = [sha256(), sha256(), sha256()]
  const sweep = (ahead: number) => repository.sweepContents([unused, claimed, late], ahead)
  assert.equal(await repository.claimContent(claimed), true)
  assert.deepEqual(await sweep(-hour / 2), { deleted: [], setAside: 2, broughtBack: 0 })
  assert.deepEqual(await sweep(0), { deleted: [], setAside: 0, broughtBack: 0 })
  assert.equal(await repository.claimContent(late), true, 'a content that was set aside can be claimed')

  const overdue = (hour * 3) / 4
  assert.deepEqual(await sweep(overdue), { deleted: [unused], setAside: 0, broughtBack: 0 })
  assert.equal(await repository.claimContent(unused), false, 'it is being deleted')
  assert.deepEqual((await sweep(overdue)).deleted, [], 'another sweep leaves it to this one')
  await repository.endDeletion([unused])
  assert.equal(await repository.claimContent(unused), true)
})

test('F5 of a claim and a deletion at once, exactly one wins', async ({ repository }) => {
  for (let round = 0; round < 8; round++) {
    const one = sha256()
    await repository.sweepContents([one], 0)
    const [isClaimed, { deleted }] = await Promise.all([
      repository.claimContent(one),
      repository.sweepContents([one], later),
    ])
    assert.equal(isClaimed, deleted.length === 0)
    await repository.endDeletion([one])
  }
})

test('F5 a content that is used again is brought back, and what has expired is forgotten', async ({
  repository,
}) => {
  const used = sha256()
  await repository.sweepContents([used], 0)
  const file = { bundle: 'ORIGINAL', description: null, mimeType: 'text/plain', readers: null, size: 1 }
  const item = {
    ...{ identifier: 'claims/1', metadata: {}, collections: [], readers: [], fingerprint: 'f' },
    bitstreams: [{ ...file, name: 'a.txt', sha256: used }],
  }
  await repository.putItems([item], commandEvent('item.add'), [])
  assert.deepEqual(await repository.sweepContents([used], later), {
    ...{ deleted: [], setAside: 0, broughtBack: 1 },
  })
  await repository.forgetClaims()
  await repository.deleteItem('claims/1', commandEvent('item.delete'))
})
