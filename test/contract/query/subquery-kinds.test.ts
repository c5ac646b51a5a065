import assert from 'node:assert/strict'
import { list } from '../../support/clients/listings.ts'
import { importText, ndjson } from '../../support/data/imports.ts'
import { addItem } from '../../support/data/repository.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { exposeIn, withTables } from '../../support/service/exposed-tables.ts'
import { type Service, startService } from '../../support/service/service.ts'

/**
 * Values that are alike. A text field may hold any value, which counts as its JSON; in a field of JSON,
 * `true` differs from `"true"`.
 */
const values = ['"true"', 'true', '"5"', '5']
const linesOf = (name: string, written: readonly string[]) =>
  written.map((value, at) => `{"id":${at},"${name}":${value}}\n`).join('')

async function importWords(service: Pick<Service, 'storage' | 'dataFolder'>, written = values) {
  const types = new Map([['word', 'text'] as const])
  await importText(service, linesOf('word', written), { entity: 'words', key: 'id', types })
}

async function assertKinds(service: Service): Promise<void> {
  const valuesOf = async (entity: string, field: string, query: unknown) =>
    (await list(service.client(), entity, { query: query as never })).map(record => record[field])
  const among = (field: string, other: string, extracted: string) => [
    'in',
    field,
    ['from', other, ['extract', extracted]],
  ]
  const ofWords = among('value', 'words', 'word')
  assert.deepEqual(await valuesOf('things', 'value', ofWords), ['true', '5'])
  assert.deepEqual(await valuesOf('things', 'value', ['not', ofWords]), [true, 5])
  const all = ['true', true, '5', 5]
  const ofThings = among('word', 'things', 'value')
  assert.deepEqual(await valuesOf('words', 'word', ofThings), all)
  const onlyOthers = [
    'in',
    'word',
    ['from', 'things', ['extract', 'value', ['in', 'value', ['array', [true, 5]]]]],
  ]
  assert.deepEqual(await valuesOf('words', 'word', onlyOthers), [])
  assert.deepEqual(await valuesOf('words', 'word', ['not', onlyOthers]), all)
  await importWords(service, ['5', 'true'])
  assert.deepEqual(await valuesOf('things', 'value', ofWords), ['true', '5'])
  assert.deepEqual(await valuesOf('words', 'word', ofThings), [5, true])
}

/** @param field has the values from a to f */
async function assertWindows(service: Service, entity: string, field: string): Promise<void> {
  for (const [clauses, values] of [
    [
      [
        ['order_by', [[field, 'desc']]],
        ['limit', 2],
        ['offset', 1],
      ],
      ['d', 'e'],
    ],
    [
      [
        ['order_by', [field]],
        ['offset', 4],
      ],
      ['e', 'f'],
    ],
  ] as const) {
    const query = ['in', field, ['from', entity, ['extract', field], ...clauses]] as never
    const found = await list(service.client(), entity, { query, order_by: [{ field }] })
    assert.deepEqual(
      found.map(record => record[field]),
      values,
    )
  }
}

const letters = [...'abcdef']

test('Q21 a subquery has the rows of its page, whatever kind of entity it is about', async t => {
  const service = await startService(t)
  await importText(service, ndjson(letters.map(word => ({ word }))), { entity: 'words', key: 'word' })
  await assertWindows(service, 'words', 'word')
  for (const identifier of letters) await addItem(service, { identifier })
  await assertWindows(service, 'items', 'identifier')
})

testOn('postgres', 'Q21 a subquery about a table of the operator has the rows of its page', async t => {
  const { service } = await withTables(
    t,
    `CREATE TABLE things (word text PRIMARY KEY); INSERT INTO things VALUES ('${letters.join("'), ('")}')`,
  )
  await exposeIn(service, 'things')
  await assertWindows(service, 'things', 'word')
})

test('Q20 Q21 a subquery compares text with JSON by kind and value', async t => {
  const service = await startService(t)
  await importWords(service)
  const types = new Map([['value', 'json'] as const])
  await importText(service, linesOf('value', values), { entity: 'things', key: 'id', types })
  await assertKinds(service)
})

testOn('postgres', 'Q20 Q21 a subquery compares text with JSON of a table by kind and value', async t => {
  const { service } = await withTables(
    t,
    `CREATE TABLE things (id integer PRIMARY KEY, value jsonb);
     INSERT INTO things VALUES ${values.map((value, at) => `(${at}, '${value}')`).join(', ')}`,
  )
  await exposeIn(service, 'things')
  await importWords(service)
  await assertKinds(service)
})

testOn('postgres', 'Q20 Q21 a text that no column can hold equals none in a subquery', async t => {
  const { service } = await withTables(
    t,
    String.raw`CREATE TABLE things (id integer PRIMARY KEY, word text);
     INSERT INTO things VALUES (1, E'\uffff'), (2, E'\ufffd'), (3, 'a')`,
  )
  await exposeIn(service, 'things')
  await importWords(service, [String.raw`"\u0000"`, String.raw`"\ud800"`, '"a"'])
  const query = ['in', 'word', ['from', 'words', ['extract', 'word']]]
  const found = async (condition: unknown) =>
    (await list(service.client(), 'things', { query: condition as never })).map(({ id }) => id)
  assert.deepEqual(await found(query), [3])
  assert.deepEqual(await found(['not', query]), [1, 2])
})

testOn('postgres', 'Q20 Q21 an instant that no column can hold equals none in a subquery', async t => {
  const { service } = await withTables(
    t,
    `CREATE TABLE things (id integer PRIMARY KEY, at timestamptz);
     INSERT INTO things VALUES (1, '2017-01-01 00:00:00Z'), (2, '2016-12-31 23:59:59.999999Z'),
       (3, '2020-06-30 12:00:00.123457Z'), (4, '2020-06-30 14:00:00.5+02')`,
  )
  await exposeIn(service, 'things')
  const times = ['2016-12-31T23:59:60Z', '0000-01-01T00:00:00Z', '2020-06-30T12:00:00.1234567Z']
  const records = [...times, '2020-06-30T12:00:00.50Z'].map((at, id) => ({ id, at }))
  await importText(service, ndjson(records), { entity: 'others', key: 'id' })
  const query = ['in', 'at', ['from', 'others', ['extract', 'at']]]
  const found = async (condition: unknown) =>
    (await list(service.client(), 'things', { query: condition as never })).map(({ id }) => id)
  assert.deepEqual(await found(query), [4])
  assert.deepEqual(await found(['not', query]), [1, 2, 3])
})
