import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { preview } from '../../../src/entities/preview.ts'
import { optionsOf } from '../../../src/entities/recipe.ts'
import type { FieldRecipe, Recipe } from '../../../src/model/recipes.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { list } from '../../support/clients/listings.ts'
import { importText, ndjson } from '../../support/data/imports.ts'
import { deleteRecord, putRecord } from '../../support/data/record-writes.ts'
import { test } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

function previewOf(
  { storage, dataFolder }: Service,
  text: string,
  {
    recipe = {},
    kind,
    key = 'id',
  }: { recipe?: Recipe; kind?: 'update' | 'delete'; key?: string | string[] } = {},
) {
  const file = join(dataFolder, 'preview')
  writeFileSync(file, text)
  const options = {
    name: 'works',
    key,
    ...(kind && { kind }),
    ...optionsOf({ recipe, isGiven: true, isKept: false }),
  }
  return preview(file, storage.entities, options, () => {})
}

interface Case {
  readonly of: string
  readonly values: readonly string[]
  readonly type: string
  readonly kinds?: readonly (readonly [kind: string, count: number, line: number])[]
  readonly offers?: readonly object[]
}

const times = (n: number, text: string): string[] => Array<string>(n).fill(text)

const cases: readonly Case[] = [
  { of: 'integers', values: ['1', '2', '3'], type: 'integer' },
  {
    of: 'integers and texts',
    values: ['1', 'n.d.', '2', '3', '?', 'n.d.', '4', '5'],
    type: 'text',
    kinds: [
      ['integer', 5, 2],
      ['text', 3, 3],
    ],
    offers: [{ empty: ['?', 'n.d.'] }],
  },
  {
    of: 'decimal commas',
    values: ['1,5', '1.234,5', '7'],
    type: 'text',
    kinds: [
      ['decimal-comma', 2, 2],
      ['integer', 1, 4],
    ],
    offers: [{ read: 'decimal-comma' }],
  },
  {
    of: 'days first, written days and a text',
    values: ['31.12.2024', '2024-12-31', '1.2.2025', 'unknown'],
    type: 'text',
    kinds: [
      ['day-first', 2, 2],
      ['date', 1, 3],
      ['text', 1, 5],
    ],
    offers: [{ read: 'day-first', empty: ['unknown'] }],
  },
  {
    of: 'lists',
    values: ['a; b', 'c', 'a; c'],
    type: 'text',
    kinds: [['text', 3, 2]],
    offers: [{ read: 'list', separator: ';' }],
  },
  {
    of: 'texts',
    values: ['a', 'b', '1'],
    type: 'text',
    kinds: [
      ['text', 2, 2],
      ['integer', 1, 4],
    ],
    offers: [],
  },
  {
    of: 'truths',
    values: ['true', 'FALSE', 'maybe'],
    type: 'text',
    kinds: [
      ['boolean', 2, 2],
      ['text', 1, 4],
    ],
    offers: [{ empty: ['maybe'] }],
  },
  {
    of: 'more texts than an offer names',
    values: [...times(60, '7'), ...Array.from({ length: 30 }, (_, at) => `t${at}`)],
    type: 'text',
    kinds: [
      ['integer', 60, 2],
      ['text', 30, 62],
    ],
    offers: [],
  },
]

test('EA6 a preview says which values make a field what it is, and its offers do what they say', async t => {
  const service = await startService(t)
  for (const { of, values, type, kinds, offers } of cases) {
    const text = ['id\tv', ...values.map((value, at) => `${at}\t${value}`)].join('\n')
    const field = async (recipe: Recipe) => (await previewOf(service, text, { recipe })).fields[1]
    const found = await field({})
    assert.equal(found?.type, type, of)
    assert.deepEqual(
      found?.kinds?.map(one => [one.kind, one.count, one.line]),
      kinds,
      of,
    )
    assert.deepEqual(found?.offers, offers, of)
    for (const offer of offers ?? []) {
      const after = await field({ fields: { v: offer } })
      assert.notEqual(after?.type === 'text' && !('read' in offer), true, `${of}: ${after?.type}`)
      assert.deepEqual(after?.offers ?? [], [], of)
    }
  }
  // What is declared and doesn't fit is explained, too, beside its faults.
  const wrong = await previewOf(service, 'id,v\n1,5\n2,x\n3,6\n', {
    recipe: { fields: { v: { read: 'integer' } } },
  })
  assert.equal(wrong.faults.length, 1)
  assert.deepEqual(wrong.fields[1]?.offers, [{ empty: ['x'] }])
  // JSON, and values of several kinds.
  const mixed = await previewOf(
    service,
    ndjson([
      { id: 1, v: 1 },
      { id: 2, v: 'n/a' },
      { id: 3, v: 2.5 },
    ]),
  )
  assert.deepEqual(
    mixed.fields[1]?.kinds?.map(({ kind, count, example }) => [kind, count, example]),
    [
      ['integer', 1, '1'],
      ['text', 1, 'n/a'],
      ['number', 1, '2.5'],
    ],
  )
  assert.deepEqual(mixed.fields[1]?.offers, [{ empty: ['n/a'] }])
})

/** Values that JSON writes in two ways, and the type that the one offer gives their field. */
const quotedCases = [
  {
    values: [1900, '1997', null, 'no date', 1901, 'c.1997-9', '2005', 1902],
    offer: { read: 'integer', empty: ['c.1997-9', 'no date'] },
    quoted: ['integer', 2, 2, '1997'],
    becomes: ['integer', 3, '[1900,1997,null,null,1901,null,2005,1902]'],
  },
  {
    values: [1, '2', 3],
    offer: { read: 'integer' },
    quoted: ['integer', 1, 2, '2'],
    becomes: ['integer', 0, '[1,2,3]'],
  },
  {
    values: [1.5, '2.25', 3, 'x'],
    offer: { read: 'number', empty: ['x'] },
    quoted: ['number', 1, 2, '2.25'],
    becomes: ['number', 1, '[1.5,2.25,3,null]'],
  },
  {
    values: ['1', '2', 'n/a'],
    offer: { read: 'integer', empty: ['n/a'] },
    quoted: ['integer', 2, 1, '1'],
    becomes: ['integer', 1, '[1,2,null]'],
  },
  {
    values: [true, 'FALSE', 'true', '?'],
    offer: { read: 'boolean', empty: ['?'] },
    quoted: ['boolean', 2, 2, 'FALSE'],
    becomes: ['boolean', 1, '[true,false,true,null]'],
  },
  {
    values: ['a', 1, 'b', 'c'],
    offer: { read: 'text' },
    quoted: undefined,
    becomes: ['text', 0, '["a","1","b","c"]'],
  },
] as const

test('EA6 the repair of values that JSON writes as texts ends in a type, and none of them is mixed any more', async t => {
  const service = await startService(t)
  for (const [at, { values, offer, quoted, becomes }] of quotedCases.entries()) {
    const of = JSON.stringify(values)
    const text = ndjson(values.map((v, id) => ({ id, v })))
    const [, found] = (await previewOf(service, text)).fields
    assert.deepEqual(found?.offers, [offer], of)
    const told = found?.kinds?.flatMap(one =>
      one.quoted ? [[one.kind, one.quoted.count, one.quoted.line, one.quoted.example]] : [],
    )
    assert.deepEqual(told, quoted ? [quoted] : [], of)
    const recipe = { fields: { v: offer as FieldRecipe } }
    const after = await previewOf(service, text, { recipe })
    const [, field] = after.fields
    assert.deepEqual(
      [after.faults, field?.type, field?.nulls, field?.mix],
      [[], ...becomes.slice(0, 2), undefined],
      of,
    )
    const options = optionsOf({ recipe, isGiven: true, isKept: false })
    await importText(service, text, { entity: `quoted${at}`, key: 'id', ...options })
    const records = await list<{ readonly v: unknown }>(service.client(), `quoted${at}`, {
      order_by: [{ field: 'id' }],
    })
    assert.equal(JSON.stringify(records.map(({ v }) => v)), becomes[2], of)
  }
})

test('EA6 D16 a preview counts what would be added, changed and deleted, with the first of each, as the import does', async t => {
  const service = await startService(t)
  const before = Array.from({ length: 30 }, (_, at) => ({ id: at, title: `t${at}`, size: at }))
  await importText(service, ndjson(before), { entity: 'works', key: 'id' })
  const after = [
    ...before.slice(5, 12),
    { id: 12, title: 'other', size: 12 },
    // A missing field is as null, and other digits are a change.
    ...before.slice(13).map(({ id, title }) => ({ title, id, size: `${id} cm`, colour: null })),
    { id: 99, title: 'new', size: 0 },
  ]
  const { differences, changes, loss } = await previewOf(service, ndjson(after))
  assert.deepEqual(changes, { inserted: 1, replaced: 18, deleted: 5, unchanged: 7 })
  assert.deepEqual(differences?.counts, changes)
  assert.deepEqual(differences?.first.inserted, [{ key: ['99'] }])
  assert.deepEqual(
    differences?.first.deleted.map(({ key }) => key[0]),
    ['0', '1', '2', '3', '4'],
  )
  assert.equal(differences?.first.replaced.length, 10)
  assert.deepEqual(differences?.first.replaced.slice(0, 2), [
    { key: ['12'], fields: [{ name: 'title', before: '"t12"', after: '"other"' }] },
    { key: ['13'], fields: [{ name: 'size', before: '13', after: '"13 cm"' }] },
  ])
  assert.deepEqual(differences?.fields, {
    inserted: [{ name: 'colour', type: 'text' }],
    retyped: [{ name: 'size', before: 'integer', after: 'json' }],
    deleted: [],
  })
  assert.equal(loss?.records.gone, 5)
  const report = await importText(service, ndjson(after), { entity: 'works', key: 'id' })
  assert.deepEqual(report.differences, differences)

  // Updates and deletions say the same of what they name.
  const update = await previewOf(
    service,
    ndjson([after[0] as object, { id: 6, title: 'six' }, { id: 7000 }]),
    { kind: 'update' },
  )
  assert.deepEqual(update.changes, { inserted: 1, replaced: 1, deleted: 0, unchanged: 1 })
  assert.deepEqual(update.differences?.first.replaced, [
    {
      key: ['6'],
      fields: [
        { name: 'title', before: '"t6"', after: '"six"' },
        { name: 'size', before: '6', after: 'null' },
      ],
    },
  ])
  const gone = await previewOf(service, ndjson([{ id: 99 }, { id: 1234 }]), { kind: 'delete' })
  assert.deepEqual([gone.changes?.deleted, gone.differences?.first.deleted], [1, [{ key: ['99'] }]])
  // Another key or another type of it has another order.
  const other = await previewOf(service, 'id,title\nx,y\n')
  assert.equal(other.differences, undefined)
  assert.equal(other.loss?.records.gone, report.records)
})

test('EA6 what was written by single records is compared, too, and keys sort as their language does', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const names = ['Ä', 'a', 'Z', 'é', 'ü', 'b', 'O']
  const records = names.map(name => ({ name, n: 1 }))
  const options = { entity: 'works', key: 'name', collations: new Map([['name', 'de']]) }
  await importText(service, ndjson(records), options)
  await root.send('PATCH', '/works', { write: 'admin' })
  const recipe = { fields: { name: { collation: 'de' } } }
  const none = await previewOf(service, ndjson(records.toReversed()), { recipe, key: 'name' })
  assert.deepEqual(none.changes, { inserted: 0, replaced: 0, deleted: 0, unchanged: 7 })
  await putRecord(root.client, 'works', 'ö', { name: 'ö', n: 2 })
  await deleteRecord(root.client, 'works', 'b')
  const some = await previewOf(service, ndjson(records), { recipe, key: 'name' })
  assert.deepEqual(some.changes, { inserted: 1, replaced: 0, deleted: 1, unchanged: 6 })
  const long = 'x'.repeat(100_000)
  const cut = await previewOf(service, ndjson([{ name: 'Z', n: long }]), { recipe, key: 'name' })
  assert.ok(JSON.stringify(cut.differences).length < 2_000)
})
