import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nobody } from '../../../src/lib/fair-queue.ts'
import { sharedNumbers } from '../../../src/lib/memory.ts'
import type { RecordEntity } from '../../../src/storage/entities.ts'
import { Facts } from '../../../src/storage/records/facts.ts'
import { createFieldFiles } from '../../../src/storage/records/field-files.ts'
import type { Turn } from '../../../src/storage/records/kept-facts.ts'
import { VersionCache } from '../../../src/storage/runtime/version-cache.ts'

const entity: RecordEntity = {
  name: 'things',
  key: 'id',
  fields: [],
  read: 'anonymous',
  source: { kind: 'records', version: 'things.1', count: 0, bytes: 0, largest: 0 },
}

const noFiles = createFieldFiles('/nowhere')

/** A turn that asks the thread for nothing. */
const turn = { work: {} as Turn['work'], client: nobody } satisfies Turn

test('Q10 what is made is kept if it takes at most half of the cache, and the rest is made again', async () => {
  const usage = new Float64Array(2)
  const facts = new Facts(new VersionCache(20_000, undefined, usage), noFiles)
  let made = 0
  const make = (length: number) => async () => {
    made++
    return sharedNumbers(length)
  }
  for (let round = 0; round < 3; round++) await facts.kept(turn, entity, 'small', make(100))
  assert.equal(made, 1)
  for (let round = 0; round < 3; round++) await facts.kept(turn, entity, 'large', make(2_000))
  assert.equal(made, 4)
  for (let round = 0; round < 3; round++) await facts.kept(turn, entity, 'result', make(500), 1_000)
  assert.equal(made, 7)
  for (let n = 0; n < 20; n++) await facts.kept(turn, entity, `many ${n}`, make(500))
  assert.ok((usage[0] ?? 0) <= 20_000, `${usage[0]} bytes`)
})

test('Q10 what one client gives up, another who waits for it makes', async () => {
  const facts = new Facts(new VersionCache(1_000_000), noFiles)
  const first = Promise.withResolvers<ReturnType<typeof sharedNumbers>>()
  const given = sharedNumbers(3)
  let made = 0
  const gaveUp = facts.kept(turn, entity, 'value', () => first.promise)
  const waiting = [1, 2].map(() =>
    facts.kept(turn, entity, 'value', async () => {
      made++
      return given
    }),
  )
  first.reject(new Error('gone'))
  await assert.rejects(gaveUp, /gone/)
  assert.deepEqual(await Promise.all(waiting), [given, given])
  assert.equal(made, 1)
})

test('Q20 a field whose values are looked up again and again gets them, once for each version', () => {
  let begun = 0
  const facts = new Facts(new VersionCache(1_000_000), noFiles, async () => {
    begun++
  })
  const need = (lookups: number, name = 'size') => ({
    ref: { name, path: [], type: 'integer' as const },
    values: false,
    lookups,
    postings: true,
  })
  const fields = ['size', 'width'].map(name => ({ name, type: 'integer', nullable: false }) as const)
  const versions = ['things.1', 'things.2'].map(version => ({
    ...entity,
    fields,
    source: { ...entity.source, version },
  }))
  for (const one of versions) for (let n = 0; n < 1_000; n++) facts.note(one, need(1))
  assert.equal(begun, 2)
  for (const one of versions) facts.note(one, need(1_000, 'width'))
  assert.equal(begun, 4)
})
