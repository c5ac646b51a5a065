import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import { entityTag } from '../../src/model/declared.ts'
import type { Field } from '../../src/model/entities.ts'
import type { NewEntity, RecordEntity } from '../../src/storage/entities.ts'
import { verifyTrail } from '../../src/storage/statements/verify-trail.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { storeTests } from '../support/service/stores.ts'

/** The list of entities, what is declared of them, and the audit trail in the store. */
const test = storeTests()

const fields: readonly Field[] = [
  { name: 'id', type: 'integer', nullable: false },
  { name: 'title', type: 'text', nullable: true },
]

/** An entity with records 1 to `count`. */
const letters = (name: string, count: number, more: Partial<NewEntity> = {}): NewEntity => ({
  name,
  key: 'id',
  fields,
  read: 'anonymous',
  ranks: () => Uint32Array.from({ length: count }, (_, at) => at),
  ...more,
})
const lines = (count: number, title: string) =>
  Array.from({ length: count }, (_, at) => JSON.stringify({ id: at + 1, title }))

async function entityIn({ entities }: Storage, name: string): Promise<RecordEntity> {
  const entity = (await entities.all()).get(name)
  assert.ok(entity?.source.kind === 'records')
  return entity as RecordEntity
}

async function recordsIn(storage: Storage, name: string): Promise<readonly string[]> {
  const version = await storage.entities.openVersion(await entityIn(storage, name))
  try {
    return await version.read(await version.slots())
  } finally {
    await version.close()
  }
}

test('Q1 an entity is replaced in one step, keeps what is declared of it, and is dropped', async storage => {
  const { entities } = storage
  const imported = commandEvent('entity.import')
  assert.equal(await entities.publish(letters('one', 2), lines(2, 'a'), imported), 'anonymous')
  assert.deepEqual(await recordsIn(storage, 'one'), lines(2, 'a'))
  const event = commandEvent('entity.change')
  assert.equal(await entities.describe('one', { defaultCondition: '["=", "id", 1]' }, event), true)
  assert.equal(await entities.changeReadRule('one', 'group:Readers', event), true)
  assert.equal(await entities.changeWriteRule('one', 'admin', event), true)
  assert.equal(await entities.changeWriteRule('none', 'admin', event), false)
  assert.equal(
    await entities.publish(letters('one', 3, { read: null }), lines(3, 'b'), imported),
    'group:Readers',
  )
  const entity = await entityIn(storage, 'one')
  assert.deepEqual(
    [entity.defaultCondition, entity.read, entity.write, entity.source.count],
    ['["=", "id", 1]', 'group:Readers', 'admin', 3],
  )
  const declared = { read: 'eperson', description: 'Other' } as const
  assert.equal(await entities.declare('one', declared, 'another tag', event), 'changed')
  assert.equal(await entities.declare('one', declared, entityTag(entity), event), 'declared')
  assert.equal(await entities.declare('none', declared, 'x', event), 'missing')
  assert.equal((await entityIn(storage, 'one')).write, undefined)
  const stale = letters('one', 1, { replaces: 'another version' })
  assert.equal(await entities.publish(stale, lines(1, 'c'), imported), undefined)
  assert.equal(await entities.drop('one', commandEvent('entity.drop'), 'another tag'), 'changed')
  assert.equal(await entities.drop('one', commandEvent('entity.drop')), true)
  assert.equal(await entities.drop('one', commandEvent('entity.drop')), false)
})

test('R1 a single record is written over what was read, and a revision takes it in', async storage => {
  const { entities } = storage
  await entities.publish(letters('two', 2), lines(2, 'a'), commandEvent('entity.import'))
  const base = await entityIn(storage, 'two')
  const json = JSON.stringify({ id: 3, title: 'new' })
  const write = { entity: base, key: 'a key', values: [3], json, added: 1, before: 0 } as const
  const put = commandEvent('record.put')
  assert.equal(await entities.writeRecord(write, put), true)
  assert.equal(await entities.writeRecord(write, put), false)
  const written = await entityIn(storage, 'two')
  assert.equal(written.source.count, 3)
  assert.ok((await recordsIn(storage, 'two')).includes(json))
  const ranks = () => Uint32Array.of(0, 1, 2)
  const revised = { ...letters('two', 3), ranks, of: written, slots: Uint32Array.of(0, 1, 2), added: [json] }
  assert.equal(await entities.revise(revised, commandEvent('entity.update')), 'anonymous')
  assert.deepEqual(await recordsIn(storage, 'two'), [...lines(2, 'a'), json])
})

test('D9 the trail is signed, pruned and read at one moment, and verifies', async storage => {
  const { trail } = storage
  for (let n = 0; n < 5; n++) await trail.record(commandEvent('group.add', `event ${n}`))
  await trail.checkpoint()
  assert.equal(await trail.checkpoint(), false)
  const verify = () => trail.read(reader => verifyTrail(reader, { maxFaults: 9, kept: null }, () => {}))
  const verdict = await verify()
  assert.deepEqual(verdict.faults, [])
  assert.ok(verdict.events >= 5)
  const before = await trail.read(async reader => reader.count(null))
  assert.equal(await trail.pruneSome(new Date(Date.now() + 1_000).toISOString()), before)
  assert.deepEqual((await verify()).faults, [])
  await trail.record(commandEvent('group.add', 'after'))
  const seen: (string | null)[] = []
  await trail.read(async reader => {
    for await (const event of reader.events({ since: null, until: null })) seen.push(event.object)
  })
  assert.deepEqual(seen, ['after'])
  assert.deepEqual((await verify()).faults, [])
})
