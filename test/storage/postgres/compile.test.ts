import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity, Page } from '../../../src/model/entities.ts'
import { type Condition, listOf } from '../../../src/model/plan.ts'
import { countOf, pageOf, shortPageOf } from '../../../src/storage/postgres/compile.ts'
import { quoteName } from '../../../src/storage/tables/cells.ts'
import type { ReadTable } from '../../../src/storage/tables/dialect.ts'
import type { VisibleRows, Way } from '../../../src/storage/tables/row-visibility.ts'

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
const tables = (rows: VisibleRows, more: Partial<ReadTable> = {}, way: Way = 'scan') => ({
  tableOf: () => ({ name: '"people"', isExposed: false, asText: [], rows, ...more }),
  way,
})
const all = tables({ kind: 'all' })
const everything: Page = { order: [], offset: 0, limit: null, total: false }
const page: Page = {
  order: [{ field: 'full name', descending: true }],
  offset: 40,
  limit: 20,
  total: true,
}
const records = (from: string, order: string, window: string) =>
  `SELECT CAST(row_to_json("record") AS TEXT) AS json FROM (SELECT t."id", t."full name" FROM ${from} ORDER BY ${order} LIMIT ${window}) "record"`

test('Q6 on PostgreSQL a page without an order is in the order of the key', () => {
  assert.deepEqual(pageOf(listOf(entity, everything), all), {
    sql: records('"people" t', 't."id"', '$1 OFFSET $2'),
    values: [null, 0],
  })
  assert.equal(countOf(listOf(entity, everything), all), undefined)
})

test('Q2 Q3 Q4 Q5 Q6 on PostgreSQL a short page is one statement: its order, then the key, and the total of the whole table', () => {
  const inner = records('"people" t', 't."full name" DESC, t."id"', '$1 OFFSET $2')
  assert.deepEqual(shortPageOf(listOf(entity, page), all, ','), {
    sql: `SELECT (SELECT count(*) AS count FROM "people" t) AS count, (SELECT string_agg(json, $3) FROM (${inner}) page) AS body`,
    values: [20, 40, ','],
  })
  assert.deepEqual(shortPageOf(listOf(entity, { ...page, total: false }), all, ','), {
    sql: `SELECT (SELECT count(*) AS count FROM (SELECT 1 FROM "people" t LIMIT $4) AS counted) AS count, (SELECT string_agg(json, $3) FROM (${inner}) page) AS body`,
    values: [20, 40, ',', 61],
  })
})

test('Q6 Q17 on PostgreSQL each field is compared once, and none after the key', () => {
  const order = ['full name', 'id', 'other'].map(field => ({ field, descending: true }))
  const { sql } = pageOf(listOf(entity, { ...everything, order }), all)
  assert.equal(/ORDER BY (.*) LIMIT/.exec(sql)?.[1], 't."full name" DESC, t."id" DESC')
})

test('Q11 on PostgreSQL rows about someone else are in neither the page nor the total', () => {
  const own = tables({ kind: 'own', eperson: 'e' }, { name: '"own_people"' })
  const inner = records('"own_people" t WHERE t.eperson = $1', 't."id"', '$2 OFFSET $3')
  assert.deepEqual(shortPageOf(listOf(entity, { ...page, order: [] }), own, ','), {
    sql: `SELECT (SELECT count(*) AS count FROM "own_people" t WHERE t.eperson = $5) AS count, (SELECT string_agg(json, $4) FROM (${inner}) page) AS body`,
    values: ['e', 20, 40, ',', 'e'],
  })
  const { sql, values } = shortPageOf(listOf(entity, { ...page, order: [], total: false }), own, ',')
  assert.match(sql, /WHERE t\.eperson = \$5 LIMIT \$6\) AS counted/)
  assert.deepEqual(values, ['e', 20, 40, ',', 'e', 61])
})

test('Q11 on PostgreSQL the audiences of a viewer are values of the page and of the total', () => {
  const audiences = { kind: 'table', table: 'items', rows: 'audience' } as const
  const plan = listOf({ ...entity, source: audiences }, page)
  const many = Array.from({ length: 17 }, (_, n) => n + 1)
  const seen = (way: Way, ids: readonly number[] = many) =>
    tables({ kind: 'audiences', ids }, { name: '"seen_items"' }, way)
  const { sql, values } = shortPageOf(plan, seen('scan'), ',')
  assert.match(sql, /WHERE \(t\.audience \+ 0\) = ANY\(\$1::integer\[\]\) ORDER BY/)
  assert.match(sql, /sum\(items\) AS BIGINT\), 0\) AS count FROM audience WHERE id = ANY\(\$5::integer\[\]\)/)
  assert.deepEqual(values, [many, 20, 40, ',', many])
  assert.match(
    pageOf(plan, seen('collect')).sql,
    /FROM \(SELECT \* FROM "seen_items" t WHERE t\.audience = ANY\(\$1::integer\[\]\) OFFSET 0\) t ORDER BY/,
  )
  assert.match(
    pageOf(plan, seen('collect', [7])).sql,
    /FROM "seen_items" t WHERE t\.audience = CAST\(\$1 AS INTEGER\) ORDER BY/,
  )
})

test('Q14 on PostgreSQL a few audiences are parts of the statement, each with as many rows as the page may need', () => {
  const seen = tables({ kind: 'audiences', ids: [1, 7] }, { name: '"seen_items"' }, 'merge')
  const { sql, values } = pageOf(listOf(entity, page), seen)
  const part = (n: number) =>
    `(SELECT t.* FROM "seen_items" t WHERE t.audience = CAST($${n} AS INTEGER) ORDER BY t."full name" DESC, t."id" LIMIT $1)`
  assert.ok(sql.includes(`FROM (${part(2)} UNION ALL ${part(3)}) t ORDER BY`), sql)
  assert.deepEqual(values, [60, 1, 7, 20, 40])
})

test('Q6 Q7 on PostgreSQL names with $1, quotes, % and spaces stay the names that they are', () => {
  const name = `a$1 "b' 100%`
  const odd: Entity = { ...entity, key: name, fields: [{ name, type: 'text', nullable: false }] }
  const table = `${quoteName('s$2')}.${quoteName('price$1')}`
  const read = tables({ kind: 'all' }, { name: table, isExposed: true, asText: [name] })
  const { sql, values } = shortPageOf(listOf(odd, { ...page, order: [] }), read, ',')
  assert.ok(sql.includes(`SELECT count(*) AS count FROM "s$2"."price$1" t)`), sql)
  assert.ok(sql.includes(`SELECT t."a$1 ""b' 100%" FROM "s$2"."price$1" t ORDER BY`), sql)
  assert.ok(sql.includes(`ORDER BY CAST(t."a$1 ""b' 100%" AS TEXT) COLLATE "C" LIMIT`), sql)
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
  const own = tables({ kind: 'own', eperson: 'e' }, { name: '"own_people"' })
  const plan = { ...listOf({ ...entity, fields: [...entity.fields, groups] }, everything), where }
  const { sql, values } = pageOf(plan, own)
  assert.deepEqual(values, ['a', 'b', "'; --", 'e', null, 0])
  const member = (n: number) => `NULLIF((o.x0 -> CAST($${n} AS TEXT)), CAST('null' AS JSONB))`
  assert.ok(
    sql.includes(
      `OFFSET 0) AS o WHERE t.eperson = $4 AND (((${member(1)} IS NOT NULL) AND (${member(2)} IS NULL)) AND (t."full name" = CAST($3 AS TEXT))) ORDER BY`,
    ),
    sql,
  )
  assert.equal(sql.split('CROSS JOIN LATERAL').length, 2)
})
