import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import type { Store } from '../../src/features.ts'
import { nobody } from '../../src/lib/fair-queue.ts'
import { entityTag } from '../../src/model/declared.ts'
import type { EntityState } from '../../src/model/snapshots.ts'
import type { NewEntity } from '../../src/storage/entities.ts'
import { storeTests } from '../support/service/stores.ts'
import { until } from '../support/service/waiting.ts'
import { entityIn, fields, letters, lines, recordsIn } from './letters.ts'

const test = storeTests()

const imported = commandEvent('entity.import')
const restored = commandEvent('entity.restore')

/** Publishes records 1 to `count` with this title. */
const publish = (
  { entities }: Store,
  name: string,
  count: number,
  title: string,
  more: Partial<NewEntity> = {},
) => entities.publish(letters(name, count, more), lines(count, title), imported)

test('D15 a version comes back with its key, what is declared of the entity stays, and a stale tag is refused', async storage => {
  const { entities } = storage
  await publish(storage, 'one', 3, 'a')
  assert.deepEqual(await entities.versions('one'), [])
  await publish(storage, 'one', 2, 'b', { key: ['title', 'id'], read: 'admin' })
  await entities.describe('one', { defaultCondition: '["=", "id", 1]' }, commandEvent('entity.change'))
  const [kept] = await entities.versions('one')
  assert.ok(kept)
  const { replaced, until, bytes, ...rest } = kept
  assert.deepEqual(rest, { id: kept.id, key: 'id', fields, records: 3, replacedBy: 'entity.import' })
  assert.ok(bytes > 3 * 20 && replaced < until)
  const tag = entityTag(await entityIn(storage, 'one'))
  assert.equal(await entities.restore('one', kept.id, restored, 'another tag'), 'changed')
  assert.equal(await entities.restore('one', kept.id + 1, restored, tag), 'unknown')
  assert.equal(await entities.restore('none', kept.id, restored), 'missing')
  assert.deepEqual(await recordsIn(storage, 'one'), lines(2, 'b'))
  assert.equal(await entities.restore('one', kept.id, restored, tag), 'restored')
  const { key, read, defaultCondition } = await entityIn(storage, 'one')
  assert.deepEqual([key, read, defaultCondition], ['id', 'admin', '["=", "id", 1]'])
  assert.deepEqual(await recordsIn(storage, 'one'), lines(3, 'a'))
  assert.equal(await entities.restore('one', kept.id, restored), 'unknown')
})

test('D15 of restores at once of one version one is made, and nothing is lost', async storage => {
  const { entities } = storage
  await publish(storage, 'two', 3, 'a')
  await publish(storage, 'two', 2, 'b')
  const [kept] = await entities.versions('two')
  const id = kept?.id ?? 0
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => entities.restore('two', id, restored)))
  assert.deepEqual(outcomes.toSorted(), ['restored', ...Array(4).fill('unknown')])
  assert.deepEqual(await recordsIn(storage, 'two'), lines(3, 'a'))
  const [other, ...more] = await entities.versions('two')
  assert.deepEqual([other?.records, more], [2, []])
  await entities.restore('two', other?.id ?? 0, restored)
  assert.deepEqual(await recordsIn(storage, 'two'), lines(2, 'b'))
})

test('D15 ten versions that were replaced are kept of an entity, and none of one that is dropped', async storage => {
  const { entities } = storage
  for (let n = 1; n <= 13; n++) await publish(storage, 'three', n, 'a')
  const kept = await entities.versions('three')
  assert.deepEqual(
    kept.map(({ records }) => records),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
  )
  await entities.restore('three', kept.at(-1)?.id ?? 0, restored)
  assert.deepEqual(await recordsIn(storage, 'three'), lines(3, 'a'))
  await entities.drop('three', commandEvent('entity.drop'))
  assert.deepEqual(await entities.versions('three'), [])
  await publish(storage, 'three', 1, 'b')
  assert.deepEqual(await entities.versions('three'), [])
  assert.equal(await entities.restore('three', kept[0]?.id ?? 0, restored), 'unknown')
})

test('Q36 an entity is found in an earlier state with what is declared of it now, until that is gone', async storage => {
  const { entities } = storage
  await publish(storage, 'held', 3, 'a')
  const before = await entityIn(storage, 'held')
  const state = entities.state(before)
  assert.equal(await entities.at(before, state), before)
  await publish(storage, 'held', 1, 'c')
  await publish(storage, 'held', 2, 'b', { key: ['title', 'id'], read: 'admin' })
  const now = await entityIn(storage, 'held')
  const then = await entities.at(now, state)
  assert.ok(then)
  assert.deepEqual([then.key, then.read, then.source], ['id', 'admin', before.source])
  await until(
    'the size among the metrics',
    () => storage.metrics.heldVersions(),
    size => size !== undefined && size >= 2 * 64 * 1024,
  )
  assert.equal(await entities.at(now, { ...state, seq: 1 }), undefined)
  assert.equal(await entities.at(now, { ...state, entity: 'other' }), undefined)
  await entities.drop('held', commandEvent('entity.drop'))
  await publish(storage, 'held', 3, 'a')
  assert.equal(await entities.at(await entityIn(storage, 'held'), state), undefined)
})

test('Q39 what was written one by one is told by its number, and a revision by what differs', async storage => {
  const { entities } = storage
  await publish(storage, 'told', 3, 'a')
  const before = await entityIn(storage, 'told')
  const json = '{"id":4,"title":"b"}'
  const write = { entity: before, key: 'a key', values: [4], json, added: 1, before: 0 } as const
  assert.equal(await entities.writeRecord(write, commandEvent('record.put')), true)
  const written = await entityIn(storage, 'told')
  const since = async (state: EntityState | undefined) => {
    const told: (readonly [string, string | null])[] = []
    for await (const { changes } of entities.changesSince(await entityIn(storage, 'told'), state, nobody))
      told.push(...changes.map(({ kind, json }) => [kind, json] as const))
    return told
  }
  assert.deepEqual(await since(undefined), [])
  assert.deepEqual(await since(entities.state(before)), [['added', json]])
  await publish(storage, 'told', 2, 'a')
  assert.deepEqual(await since(entities.state(written)), [
    ['deleted', null],
    ['deleted', null],
  ])
  assert.equal(await entities.sharedSlots(before, written), 3)
  assert.equal(await entities.sharedSlots(before, await entityIn(storage, 'told')), 0)
})
