import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInEntities } from '../../src/model/built-in-entities.ts'
import type { Entity, FieldType, Relation } from '../../src/model/entities.ts'
import {
  areComparable,
  changedDescription,
  type Description,
  type DescriptionChange,
  relationsBetween,
  relationsOf,
} from '../../src/model/relations.ts'

const to = (entity: string, fields: readonly string[], theirs: readonly string[]): Relation => ({
  fields,
  to: { entity, fields: theirs },
})

function entity(name: string, fields: readonly string[], relations?: readonly Relation[]): Entity {
  return {
    name,
    key: 'id',
    read: 'anonymous',
    fields: fields.map(field => ({ name: field, type: 'text', nullable: true })),
    source: { kind: 'table', table: name, rows: 'all' },
    ...(relations && { relations }),
  }
}

const mapOf = (...all: readonly Entity[]) => new Map(all.map(one => [one.name, one]))

const known = mapOf(
  ...builtInEntities,
  entity(
    'artworks',
    ['id', 'artist', 'a', 'b'],
    [to('artists', ['artist'], ['id']), to('gone', ['a'], ['b'])],
  ),
  entity('artists', ['id']),
  entity('shows', ['works'], [to('sets', ['works[*].set'], ['data."a.b"'])]),
  entity('sets', ['x', 'y'], [to('artworks', ['x', 'y'], ['a', 'b'])]),
  entity('nodes', ['certname']),
  entity('facts', ['certname', 'name', 'value'], [to('fact_contents', ['name', 'value'], ['name', 'value'])]),
  entity('fact_contents', ['certname', 'name', 'value']),
)

test('Q21 a relation holds in both directions, with the pairs of fields as each side sees them', () => {
  const between = (one: string, other: string) => relationsBetween(known, one, other)
  assert.deepEqual(between('artworks', 'artists'), [['artist', 'id']])
  assert.deepEqual(between('artists', 'artworks'), [['id', 'artist']])
  assert.deepEqual(between('artworks', 'sets'), [
    ['a', 'x'],
    ['b', 'y'],
  ])
  assert.deepEqual(between('sets', 'shows'), [['data."a.b"', 'works[*].set']])
  assert.deepEqual(between('bitstreams', 'items'), [['item', 'uuid']])
  assert.deepEqual(between('epersons', 'audit-events'), [['uuid', 'eperson']])
  for (const [one, other] of [
    ['artists', 'sets'],
    ['artworks', 'artworks'],
    ['artworks', 'gone'],
    ['gone', 'artworks'],
    ['items', 'epersons'],
  ] as const)
    assert.equal(between(one, other), undefined, `${one} ${other}`)
})

test('Q21 entities that share a field certname are related by it, unless something else is declared', () => {
  for (const other of ['facts', 'nodes'])
    assert.deepEqual(relationsBetween(known, 'nodes', other), [['certname', 'certname']])
  assert.deepEqual(relationsBetween(known, 'fact_contents', 'facts'), [
    ['name', 'name'],
    ['value', 'value'],
  ])
  assert.deepEqual(relationsOf(known.get('nodes') ?? entity('', []), known), [
    to('fact_contents', ['certname'], ['certname']),
    to('facts', ['certname'], ['certname']),
  ])
})

test('Q21 values of the same kind can be equal, and those of JSON with what JSON holds', () => {
  const kinds = ['integer', 'number', 'boolean', 'date-time', 'text', 'json'] as const
  const comparable: readonly (readonly FieldType[])[] = [
    ...kinds.map(kind => [kind, kind]),
    ['integer', 'number'],
    ...(['integer', 'number', 'boolean', 'text'] as const).map(kind => [kind, 'json'] as const),
  ]
  for (const type of kinds)
    for (const other of kinds)
      assert.equal(
        areComparable({ type }, { type: other }),
        comparable.some(
          pair => pair.includes(type) && pair.includes(other) && (type !== other || pair[0] === pair[1]),
        ),
        `${type} ${other}`,
      )
})

test('Q21 Q25 a change of what is declared leaves everything else', () => {
  const artists = to('artists', ['artist'], ['id'])
  const other = to('artists', ['b'], ['id'])
  const sets = to('sets', ['a'], ['x'])
  const steps: readonly (readonly [DescriptionChange, Description])[] = [
    [{ unrelate: 'artists' }, {}],
    [{ relate: artists }, { relations: [artists] }],
    [{ defaultCondition: '["=","a",1]' }, { relations: [artists], defaultCondition: '["=","a",1]' }],
    [{ relate: sets }, { relations: [artists, sets], defaultCondition: '["=","a",1]' }],
    [{ relate: other }, { relations: [sets, other], defaultCondition: '["=","a",1]' }],
    [{ unrelate: 'sets' }, { relations: [other], defaultCondition: '["=","a",1]' }],
    [{ defaultCondition: null }, { relations: [other] }],
    [{ unrelate: 'artists' }, {}],
  ]
  let description: Description = {}
  for (const [change, expected] of steps) {
    description = changedDescription(description, change)
    assert.deepEqual(description, expected)
  }
})
