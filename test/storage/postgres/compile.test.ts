import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity, Page } from '../../../src/model/entities.ts'
import { type Condition, listOf } from '../../../src/model/plan.ts'
import { quoteName } from '../../../src/storage/postgres/cells.ts'
import {
  compileCount,
  compilePage,
  compileShortPage,
  type TableShape,
} from '../../../src/storage/postgres/compile.ts'
import type { RowSelection } from '../../../src/storage/postgres/row-selection.ts'

const entity: Entity = {
  name: 'people',
  key: 'id',
  read: 'admin',
  fields: [
    { name: 'id', type: 'integer', nullable: false },
    { name: 'full name', type: 'text', nullable: true },
  ],
  source: { kind: 'table', table: 'people', rows: 'all' },
}
const shape = (rows: RowSelection, more: Partial<TableShape> = {}): TableShape => ({
  table: 'carrel."people"',
  isExposed: false,
  asText: [],
  mayHaveLineBreaks: false,
  rows,
  ...more,
})
const everything: Page = { order: [], offset: 0, limit: null, total: false }
const page: Page = {
  order: [{ field: 'full name', descending: true }],
  offset: 40,
  limit: 20,
  total: true,
}
const records = (from: string, order: string) =>
  `SELECT CAST(row_to_json("record") AS TEXT) AS json FROM (SELECT t."id", t."full name" FROM ${from} ORDER BY ${order} LIMIT $1 OFFSET $2) "record"`

test('Q6 on PostgreSQL a page without an order is in the order of the key', () => {
  assert.deepEqual(
    compilePage(listOf(entity, everything), () => shape({ kind: 'all' })),
    {
      sql: records('carrel."people" t ', 't."id" ASC'),
      values: [null, 0],
    },
  )
  assert.equal(
    compileCount(listOf(entity, everything), () => shape({ kind: 'all' })),
    undefined,
  )
})

test('Q2 Q3 Q4 Q5 Q6 on PostgreSQL a short page is one statement: its order, then the key, and the total of the whole table', () => {
  const inner = records('carrel."people" t ', 't."full name" DESC, t."id" ASC')
  assert.deepEqual(
    compileShortPage(listOf(entity, page), () => shape({ kind: 'all' }), ','),
    {
      sql: `SELECT (SELECT count(*) AS count FROM carrel."people" t ) AS count, (SELECT string_agg(json, $3) FROM (${inner}) page) AS body`,
      values: [20, 40, ','],
    },
  )
  assert.deepEqual(
    compileShortPage(listOf(entity, { ...page, total: false }), () => shape({ kind: 'all' }), ','),
    {
      sql: `SELECT (SELECT count(*) AS count FROM (SELECT 1 FROM carrel."people" t  LIMIT $4) counted) AS count, (SELECT string_agg(json, $3) FROM (${inner}) page) AS body`,
      values: [20, 40, ',', 61],
    },
  )
})

test('Q6 Q17 on PostgreSQL each field is compared once, and none after the key', () => {
  const order = ['full name', 'id', 'other'].map(field => ({ field, descending: true }))
  const { sql } = compilePage(listOf(entity, { ...everything, order }), () => shape({ kind: 'all' }))
  assert.equal(/ORDER BY (.*) LIMIT/.exec(sql)?.[1], 't."full name" DESC, t."id" DESC')
})

test('Q11 on PostgreSQL rows about somebody else are in neither the page nor the total', () => {
  const own = shape({ kind: 'own', eperson: 'e' }, { table: 'carrel."own_people"' })
  assert.deepEqual(
    compileShortPage(listOf(entity, { ...page, order: [] }), () => own, ','),
    {
      sql: `SELECT (SELECT count(*) AS count FROM carrel."own_people" t WHERE t.eperson = $5) AS count, (SELECT string_agg(json, $4) FROM (${records('carrel."own_people" t WHERE t.eperson = $3', 't."id" ASC')}) page) AS body`,
      values: [20, 40, 'e', ',', 'e'],
    },
  )
  const { sql, values } = compileShortPage(
    listOf(entity, { ...page, order: [], total: false }),
    () => own,
    ',',
  )
  assert.match(sql, /WHERE t\.eperson = \$6 LIMIT \$5\) counted/)
  assert.deepEqual(values, [20, 40, 'e', ',', 61, 'e'])
})

test('Q11 on PostgreSQL the audiences of a viewer are values of the page and of the total', () => {
  const many = Array.from({ length: 17 }, (_, n) => n + 1)
  const seen = (collect: boolean, ids: readonly number[] = many) =>
    shape({ kind: 'audiences', ids, counter: 'items', collect }, { table: 'carrel."seen_items"' })
  const { sql, values } = compileShortPage(listOf(entity, page), () => seen(false), ',')
  assert.match(sql, /WHERE \(t\.audience \+ 0\) = ANY\(\$3::integer\[\]\) ORDER BY/)
  assert.match(
    sql,
    /sum\(items\) AS BIGINT\), 0\) AS count FROM carrel\.audience WHERE id = ANY\(\$5::integer\[\]\)/,
  )
  assert.deepEqual(values, [20, 40, many, ',', many])
  assert.match(
    compilePage(listOf(entity, page), () => seen(true)).sql,
    /FROM \(SELECT \* FROM carrel\."seen_items" t WHERE t\.audience = ANY\(\$3::integer\[\]\) OFFSET 0\) t ORDER BY/,
  )
  assert.match(
    compilePage(listOf(entity, page), () => seen(true, [7])).sql,
    /FROM carrel\."seen_items" t WHERE t\.audience = CAST\(\$3 AS INTEGER\) ORDER BY/,
  )
})

test('Q14 on PostgreSQL a few audiences are parts of the statement, each with as many rows as the page may need', () => {
  const seen = shape(
    { kind: 'audiences', ids: [1, 7], counter: 'items', collect: true },
    { table: 'carrel."seen_items"' },
  )
  const { sql, values } = compilePage(listOf(entity, page), () => seen)
  const part = (n: number) =>
    `(SELECT t.* FROM carrel."seen_items" t WHERE t.audience = CAST($${n} AS INTEGER) ORDER BY t."full name" DESC, t."id" ASC LIMIT $3)`
  assert.ok(sql.includes(`FROM (${part(4)} UNION ALL ${part(5)}) t  ORDER BY`), sql)
  assert.deepEqual(values, [20, 40, 60, 1, 7])
})

test('Q6 Q7 on PostgreSQL names with $1, quotes, % and spaces stay the names that they are', () => {
  const name = `a$1 "b' 100%`
  const odd: Entity = { ...entity, key: name, fields: [{ name, type: 'text', nullable: false }] }
  const table = `${quoteName('s$2')}.${quoteName('price$1')}`
  const { sql, values } = compileShortPage(
    listOf(odd, page),
    () => shape({ kind: 'all' }, { table, asText: [name] }),
    ',',
  )
  assert.ok(sql.includes(`SELECT count(*) AS count FROM "s$2"."price$1" t `), sql)
  assert.ok(sql.includes(`SELECT t."a$1 ""b' 100%" FROM "s$2"."price$1" t `), sql)
  assert.ok(
    sql.includes(`ORDER BY CAST(t."full name" AS`) === false && sql.includes('"a$1 ""b\' 100%" AS TEXT'),
    sql,
  )
  assert.deepEqual(values, [20, 40, ','])
})

test('Q20 on PostgreSQL a condition is asked with the visibility, and its JSON is read once for each record', () => {
  const groups = { name: 'groups', type: 'json', nullable: false } as const
  const json = (...path: readonly string[]) => ({ name: 'groups', path, type: 'json' }) as const
  const where: Condition = {
    kind: 'and',
    of: [
      { kind: 'null', field: json('a'), negated: true },
      { kind: 'null', field: json('b'), negated: false },
      {
        kind: 'compare',
        field: { name: 'full name', path: [], type: 'text' },
        operator: '=',
        value: { kind: 'text', text: "'; --" },
        negated: false,
      },
    ],
  }
  const own = shape({ kind: 'own', eperson: 'e' }, { table: 'carrel."own_people"' })
  const plan = { ...listOf({ ...entity, fields: [...entity.fields, groups] }, everything), where }
  const { sql, values } = compilePage(plan, () => own)
  assert.deepEqual(values, [null, 0, 'e', 'a', 'b', "'; --"])
  const member = (n: number) => `NULLIF((o.x0 -> CAST($${n} AS TEXT)), CAST('null' AS JSONB))`
  assert.ok(
    sql.includes(
      `OFFSET 0) AS o WHERE t.eperson = $3 AND ((${member(4)} IS NOT NULL) AND (${member(5)} IS NULL) AND (t."full name" = CAST($6 AS TEXT))) ORDER BY`,
    ),
    sql,
  )
  assert.equal(sql.split('CROSS JOIN LATERAL').length, 2)
})
