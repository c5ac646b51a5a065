import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity, Page, TableSource } from '../../../src/model/entities.ts'
import { type Condition, listOf } from '../../../src/model/plan.ts'
import { choosePage, compileTable } from '../../../src/storage/sqlite/compile.ts'
import { tick } from '../../../src/storage/sqlite/driver.ts'
import type { VisibleRows } from '../../../src/storage/tables/row-visibility.ts'

const source: TableSource = { kind: 'table', table: 'people', rows: 'all' }
const entity: Entity = {
  name: 'people',
  key: 'id',
  read: 'admin',
  fields: [
    { name: 'id', type: 'integer', nullable: false },
    { name: 'full name', type: 'text', nullable: true },
    { name: 'enabled', type: 'boolean', nullable: false },
    { name: 'groups', type: 'json', nullable: false },
  ],
  source,
}
const compile = (of: Entity, source: TableSource, page: Page, rows: VisibleRows) =>
  compileTable(listOf({ ...of, source }, page), () => rows)

/** More numbers than are read one after another. */
const many = Array.from({ length: 17 }, (_, n) => n + 1)
const everything: Page = { order: [], offset: 0, limit: null, total: false }
const columns = `'id', t."id", 'full name', t."full name", 'enabled', json(iif(t."enabled", 'true', 'false')), 'groups', json(t."groups")`
const all = { kind: 'all' } as const

test('Q6 a page without an order is in the order of the key', () => {
  assert.deepEqual(compile(entity, source, everything, all), {
    counts: null,
    scan: {
      page: {
        sql: `SELECT json_object(${columns}) AS json FROM "people" AS t WHERE ${tick} ORDER BY t."id" LIMIT ?1 OFFSET ?2`,
        values: [-1, 0],
      },
      total: null,
    },
    collect: null,
    audiences: 0,
    end: null,
    isFiltered: false,
    highlights: [],
  })
})

test('Q2 Q3 Q4 Q5 Q6 a page has its order, then the key, its window as values, and the total is of the whole table', () => {
  const page: Page = {
    order: [
      { field: 'full name', descending: true },
      { field: 'enabled', descending: false },
    ],
    offset: 40,
    limit: 20,
    total: true,
  }
  const plan = compile(entity, source, page, all)
  assert.deepEqual(plan.scan.page, {
    sql: `SELECT json_object(${columns}) AS json FROM "people" AS t WHERE ${tick} ORDER BY t."full name" IS NULL DESC, t."full name" DESC, t."enabled", t."id" LIMIT ?1 OFFSET ?2`,
    values: [20, 40],
  })
  assert.deepEqual(plan.counts, { sql: 'SELECT count(*) AS seen, 0 AS "all" FROM "people" AS t', values: [] })
  assert.equal(plan.end, 60)
})

test('Q6 Q17 each field is compared once, and none after the key', () => {
  const order = (...fields: string[]) => {
    const page = { ...everything, order: fields.map(field => ({ field, descending: true })) }
    return /ORDER BY (.*) LIMIT/.exec(compile(entity, source, page, all).scan.page.sql)?.[1]
  }
  assert.equal(order('id', 'full name', 'enabled'), 't."id" DESC')
  assert.equal(order('enabled', 'id', 'groups'), 't."enabled" DESC, t."id" DESC')
  assert.equal(order('enabled'), 't."enabled" DESC, t."id"')
})

test('Q7 quotes in a name are escaped', () => {
  const odd: Entity = { ...entity, key: `a"b'c`, fields: [{ name: `a"b'c`, type: 'text', nullable: false }] }
  assert.equal(
    compile(odd, { ...source, table: 'x"y' }, everything, all).scan.page.sql,
    `SELECT json_object('a"b''c', t."a""b'c") AS json FROM "x""y" AS t WHERE ${tick} ORDER BY t."a""b'c" LIMIT ?1 OFFSET ?2`,
  )
})

test('Q11 rows about someone else are in neither the page nor the total', () => {
  const page: Page = { ...everything, limit: 5 }
  const plan = compile(entity, { ...source, rows: 'own' }, page, { kind: 'own', eperson: 'e' })
  assert.match(
    plan.scan.page.sql,
    / FROM "own_people" AS t WHERE .* AND t\.eperson = \?1 ORDER BY t\."id" LIMIT/,
  )
  assert.deepEqual(plan.scan.page.values, ['e', 5, 0])
  assert.deepEqual(plan.counts?.values, ['e'])
})

test('Q11 the rows of a viewer who sees a small share are collected and sorted; otherwise the list is scanned in order', () => {
  const audiences: TableSource = { kind: 'table', table: 'items', rows: 'audience' }
  const plan = (limit: number | null) =>
    compile(entity, audiences, { ...everything, limit }, { kind: 'audiences', ids: many })
  for (const [visible, limit, collects] of [
    [10, 10, true],
    [3_000, 10, true],
    [4_000, 10, false],
    [500_000, 10, false],
    [500_000, null, true],
    [0, 1, true],
  ] as const) {
    const compiled = plan(limit)
    const { access: chosen } = choosePage(compiled, visible, 1_000_000)
    assert.equal(chosen, collects ? compiled.collect : compiled.scan, `${visible} ${limit}`)
    assert.deepEqual(chosen.page.values, [`[${many}]`, limit ?? -1, 0])
  }
})

test('Q18 how many rows a page reads is estimated, with those that it sorts or skips', () => {
  const audiences: TableSource = { kind: 'table', table: 'items', rows: 'audience' }
  const rows = { kind: 'audiences', ids: many } as const
  for (const [visible, total, offset, reads] of [
    [44_000, 200_000, 10_000, 44_000],
    [44_000, 200_000, 0, 454],
    [200_000, 200_000, 900, 1_000],
    [50, 200_000, 0, 50],
    [100, 100, 0, 100],
    [0, 0, 0, 100],
  ] as const) {
    const plan = compile(entity, audiences, { ...everything, limit: 100, offset }, rows)
    assert.equal(Math.floor(choosePage(plan, visible, total).reads), reads, `${visible} of ${total}`)
  }
})

test('Q20 a condition is asked after the visibility, with its constants as values, also for the total', () => {
  const where: Condition = {
    kind: 'and',
    of: [
      {
        kind: 'compare',
        field: { name: 'full name', path: [], type: 'text' },
        operator: '<',
        value: { kind: 'text', text: "'; --" },
        negated: true,
      },
      { kind: 'null', field: { name: 'enabled', path: [], type: 'boolean' }, negated: true },
    ],
  }
  const page = { ...everything, limit: 5, offset: 2 }
  const source = { kind: 'table', table: 'items', rows: 'audience' } as const
  const plan = { ...listOf({ ...entity, source }, page), where }
  const { scan, collect, isFiltered } = compileTable(plan, () => ({ kind: 'audiences', ids: [1, 7] }))
  const filter = `((t."full name" IS NULL) = 0 AND t."full name" >= ?2) AND (t."enabled" IS NOT NULL)`
  const own = `WHERE (${tick} OR t.audience IS NULL) AND t.audience = seen AND (${filter})`
  const each = `FROM (SELECT value AS seen FROM json_each(?1)) CROSS JOIN "seen_items" AS t`
  assert.deepEqual(scan.page, {
    sql: `SELECT json_object(${columns}) AS json ${each} ON t."id" IN (SELECT t."id" FROM "seen_items" AS t ${own} ORDER BY t."id" LIMIT ?3) ORDER BY t."id" LIMIT ?4 OFFSET ?5`,
    values: ['[1,7]', "'; --", 7, 5, 2],
  })
  assert.deepEqual(scan.total, {
    sql: `SELECT count(*) AS count FROM (SELECT 1 ${each} ${own} LIMIT ?3) AS counted`,
    values: ['[1,7]', "'; --", 8],
  })
  assert.equal(collect, null)
  assert.equal(isFiltered, true)
  const tooMany = { kind: 'audiences', ids: Array.from({ length: 501 }, (_, n) => n) } as const
  const scanned = compileTable(plan, () => tooMany)
  assert.ok(
    scanned.scan.page.sql.includes(
      `WHERE ${tick} AND +t.audience IN (SELECT value FROM json_each(?1)) AND (${filter})`,
    ),
  )
  assert.match(
    scanned.collect?.page.sql ?? '',
    /WHERE \(\(random\(\) & 255 OR may_go_on\(\)\) OR t\.audience IS NULL\) AND/,
  )
  const one = compileTable(plan, () => ({ kind: 'audiences', ids: [7] })).scan.page
  assert.ok(one.sql.includes(`FROM "seen_items" AS t WHERE ${tick} AND t.audience = ?1 AND (${filter})`))
})
