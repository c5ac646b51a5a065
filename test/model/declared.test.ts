import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entityChanges, entityTag, withDeclared } from '../../src/model/declared.ts'
import type { Entity } from '../../src/model/entities.ts'

const source = { kind: 'records', version: 'v1', count: 1, bytes: 9, largest: 9 } as const
const entity: Entity = {
  name: 'books',
  key: 'id',
  fields: [
    { name: 'id', type: 'integer', nullable: false },
    { name: 'title', type: 'text', nullable: false },
  ],
  read: 'admin',
  source,
}
const relation = { fields: ['id'], to: { entity: 'others', fields: ['id'] } }

test('EA4 the tag is that of the description: everything in it counts, and nothing else', () => {
  const tag = entityTag(entity)
  const nullable = entity.fields.map(field => ({ ...field, nullable: true }))
  const same: Entity[] = [
    { ...entity, source: { ...source, version: 'v2', count: 5, slots: 7, imported: 'now' } },
    { ...entity, fields: nullable },
    { ...entity, relations: [] },
  ]
  for (const one of same) assert.equal(entityTag(one), tag)
  const others: Entity[] = [
    { ...entity, read: 'anonymous' },
    { ...entity, key: ['id'] },
    { ...entity, description: 'x' },
    { ...entity, defaultCondition: '["=","id",1]' },
    { ...entity, relations: [relation] },
    { ...entity, fields: entity.fields.slice(1) },
    { ...entity, fields: entity.fields.map(field => ({ ...field, collation: 'sv' })) },
    { ...entity, source: { kind: 'exposed', schema: 'public', table: 'books', asText: [] } },
    { ...entity, source: { kind: 'exposed', schema: 'other', table: 'books', asText: [] } },
  ]
  assert.equal(new Set([tag, ...others.map(entityTag)]).size, others.length + 1)
})

test('EA8 a change names the members that differ, before and after, and of many fields only some', () => {
  const after = withDeclared(entity, { read: 'eperson', relations: [relation], description: 'Books' })
  assert.deepEqual(entityChanges(entity, after), {
    before: { read: 'admin', relations: [], description: null },
    after: { read: 'eperson', relations: [relation], description: 'Books' },
  })
  assert.deepEqual(entityChanges(entity, entity), { before: {}, after: {} })
  assert.deepEqual(entityChanges(after, withDeclared(after, { read: 'eperson' })).after, {
    relations: [],
    description: null,
  })
  const { before, after: made } = entityChanges(undefined, entity)
  assert.equal(before, null)
  assert.deepEqual([made?.key, made?.fields, made?.records], ['id', ['id', 'title'], 1])
  assert.equal(entityChanges(entity, undefined).after, null)
  const wide = {
    ...entity,
    fields: Array.from(
      { length: 1_900 },
      (_, n) => ({ name: `f${n}`, type: 'text', nullable: true }) as const,
    ),
  }
  const names = entityChanges(entity, wide).after?.fields as string[]
  assert.deepEqual([names.length, names.at(-1)], [51, 'and 1850 more'])
})
