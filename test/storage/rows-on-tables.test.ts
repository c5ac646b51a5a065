import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { PlanRefused } from '../../src/lib/errors.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { Column, Condition, FieldRef, Plan, Rows, Scalar } from '../../src/model/plan.ts'
import type { Viewer } from '../../src/model/readers.ts'
import type { RecordFormat } from '../../src/model/record-format.ts'
import { readTextQuery } from '../../src/model/text-query.ts'
import { addItem, anyEperson, titled } from '../support/data/repository.ts'
import { repeats } from '../support/scale.ts'
import { test, testOn } from '../support/service/engines.ts'
import { exposeIn, withTables } from '../support/service/exposed-tables.ts'
import { type Service, startService } from '../support/service/service.ts'

const here = { network: '127.0.0.1', signal: () => new AbortController().signal } as const
const administrator: Viewer = { kind: 'administrator' }
const stranger: Viewer = { kind: 'reader', eperson: null, groups: new Set() }
const everything = { order: [], offset: 0, limit: null, total: false } as const

const text = (name: string, ...path: (string | number)[]): FieldRef => ({
  name,
  path,
  type: path.length > 0 ? 'json' : 'text',
})
const shown = (field: FieldRef): Scalar => ({ kind: 'field', field })
const rows = (columns: readonly Column[], more: Partial<Rows> = {}): Rows => ({
  kind: 'rows',
  columns,
  groups: null,
  having: null,
  distinct: false,
  order: [],
  ...more,
})

async function entityOf({ storage }: Service, name: string): Promise<Entity> {
  const entity = (await storage.entities.all()).get(name)
  assert.ok(entity)
  return entity
}

async function list(
  { storage }: Service,
  plan: Plan,
  viewer: Viewer = administrator,
  format: RecordFormat = 'ndjson',
): Promise<string> {
  const { body } = await storage.entities.list(plan, viewer, format, here)
  const pieces: Uint8Array[] = []
  if (body instanceof Uint8Array) pieces.push(body)
  else for await (const piece of body) pieces.push(piece)
  return pieces.map(piece => Buffer.from(piece).toString()).join('\n')
}

async function library(t: TestContext) {
  const service = await startService(t)
  for (const [n, title] of ['The Sea', 'A sea, and the sea again', 'Land'].entries())
    await addItem(service, {
      identifier: `b/${n}`,
      metadata: titled(title),
      files: [{ name: 'page, 1', content: 'x'.repeat(1_500 * n) }],
      ...(n === 2 && { readers: anyEperson }),
    })
  return {
    service,
    items: await entityOf(service, 'items'),
    bitstreams: await entityOf(service, 'bitstreams'),
  }
}

const sea = readTextQuery('sea')
const aboutTheSea: Condition = { kind: 'text', fields: [text('title')], words: sea, negated: false }

test('Q27 words are marked and weighed the same way on both engines', async t => {
  const { service, items } = await library(t)
  const relevance = { kind: 'relevance', fields: [text('title')], words: sea } as const
  const plan: Plan = {
    entity: items,
    where: aboutTheSea,
    shape: rows(
      [
        { name: 'marked', value: { kind: 'highlight', field: text('title'), words: sea }, type: 'text' },
        { name: 'title', value: shown(text('title')), type: 'text' },
      ],
      { order: [{ by: relevance, descending: true }] },
    ),
    page: everything,
  }
  const expected = [
    '{"marked":"A \\u0002sea\\u0003, and the \\u0002sea\\u0003 again","title":"A sea, and the sea again"}',
    '{"marked":"The \\u0002Sea\\u0003","title":"The Sea"}',
  ]
  for (const limit of [null, 10]) {
    const page = { ...everything, limit }
    assert.equal(await list(service, { ...plan, page }), expected.join('\n'))
    assert.equal(await list(service, { ...plan, page }, stranger, 'json'), expected.join())
  }
})

test('Q22 numbers and instants are formatted the same way on both engines', async t => {
  const { service, bitstreams } = await library(t)
  const size: FieldRef = { name: 'size', path: [], type: 'integer' }
  const created: FieldRef = { name: 'created', path: [], type: 'date-time' }
  const plan: Plan = {
    entity: bitstreams,
    where: null,
    shape: rows(
      [
        {
          name: 'size',
          value: {
            kind: 'field',
            field: { ...size, type: 'text', computed: { kind: 'to_string', mask: '9,999' } },
          },
          type: 'text',
        },
        { name: 'count', value: { kind: 'aggregate', name: 'count', field: null }, type: 'integer' },
        {
          name: 'years',
          value: { kind: 'aggregate', name: 'count_distinct', field: created },
          type: 'integer',
        },
      ],
      {
        groups: [
          { kind: 'field', field: { ...size, type: 'text', computed: { kind: 'to_string', mask: '9,999' } } },
        ],
      },
    ),
    page: everything,
  }
  assert.deepEqual(
    (await list(service, plan)).split('\n'),
    [
      '{"size":" 1,500","count":1,"years":1}',
      '{"size":" 3,000","count":1,"years":1}',
      '{"size":"     0","count":1,"years":1}',
    ].toSorted(),
  )
  const year: Scalar = {
    kind: 'field',
    field: { ...created, type: 'text', computed: { kind: 'to_string', mask: 'YYYY "of our" DAY' } },
  }
  const byYear = { ...plan, shape: rows([{ name: 'year', value: year, type: 'text' }], { distinct: true }) }
  assert.match(await list(service, byYear), /^\{"year":"\d{4} of our [A-Z]+ *"\}$/)
})

test('Q22 the columns of CSV are those of the rows', async t => {
  const { service, bitstreams } = await library(t)
  const plan: Plan = {
    entity: bitstreams,
    where: {
      kind: 'compare',
      field: { name: 'size', path: [], type: 'integer' },
      operator: '>',
      value: { kind: 'number', text: '1499.5' },
      negated: false,
    },
    shape: rows(
      [
        { name: 'a "name"', value: shown(text('name')), type: 'text' },
        { name: 'first', value: shown(text('readers', 0, 'reader')), type: 'json' },
        { name: 'none', value: shown(text('readers', 'x')), type: 'json' },
      ],
      { order: [{ by: shown(text('sha256')), descending: false }] },
    ),
    page: everything,
  }
  const lines = (await list(service, plan, administrator, 'csv')).split('\r\n')
  assert.deepEqual(lines.toSorted(), ['"page, 1",anonymous,', '"page, 1",eperson,'])
})

test('Q26 administrators see how a statement is run, and others what was understood', async t => {
  const { service, items } = await library(t)
  const plan = (field: string): Plan => ({
    entity: items,
    where: {
      kind: 'compare',
      field: text(field),
      operator: '=',
      value: { kind: 'text', text: 'b/1' },
      negated: false,
    },
    shape: { kind: 'records' },
    page: { ...everything, limit: 5 },
  })
  const explain = (field: string, viewer: Viewer, runs = false) =>
    service.storage.entities.explain(plan(field), viewer, here, runs)
  const byKey = await explain('identifier', administrator, true)
  assert.equal(typeof byKey.sql, 'string')
  assert.equal(byKey.advice, null)
  assert.equal((byKey.ran as { rows: number }).rows, 1)
  const understood = await explain('identifier', stranger)
  assert.deepEqual(Object.keys(understood), ['engine', 'entity', 'condition'])
  assert.deepEqual(understood.condition, plan('identifier').where)
  assert.equal(understood.entity, 'items')
})

testOn('postgres', 'Q26 an index that would help is named', async t => {
  const { service } = await withTables(
    t,
    'CREATE TABLE things (id integer PRIMARY KEY, word text); INSERT INTO things SELECT n, n::text FROM generate_series(1, 50) n',
  )
  const entity = await exposeIn(service, 'things')
  const where: Condition = {
    kind: 'compare',
    field: text('word'),
    operator: '=',
    value: { kind: 'text', text: '7' },
    negated: false,
  }
  const plan: Plan = { entity, where, shape: { kind: 'records' }, page: everything }
  const { advice, indexes } = await service.storage.entities.explain(plan, administrator, here, false)
  assert.equal(advice, 'All of things is read. An index on "word" would help.')
  assert.deepEqual(indexes, [])
})

testOn('postgres', 'Q26 an expression that PostgreSQL lacks is refused, and says why', async t => {
  const { service, items } = await library(t)
  const where: Condition = {
    kind: 'matches',
    field: text('title'),
    expression: '\\p{Greek}'.repeat(1_000),
    negated: false,
  }
  const plan: Plan = { entity: items, where, shape: { kind: 'records' }, page: everything }
  await assert.rejects(
    list(service, plan),
    error => error instanceof PlanRefused && /PostgreSQL can't match/.test(error.message),
  )
})

test('Q26 a query of any allowed size is a statement', async t => {
  const { service, items } = await library(t)
  const count = repeats(1_000, 5_000)
  const wanted = count - 1
  const terms = Array.from(
    { length: count },
    (_, n): Condition => ({
      kind: 'compare',
      field: n % 2 === 0 ? text('title') : text('metadata', 'dc.title', 0, 'value'),
      operator: '=',
      value: { kind: 'text', text: n === wanted ? 'Land' : `${n}` },
      negated: false,
    }),
  )
  const page = { ...everything, limit: 100, total: true }
  const many: Plan = { entity: items, where: { kind: 'or', of: terms }, shape: { kind: 'records' }, page }
  assert.match(await list(service, many), /"identifier":"b\/2"/)
  let deep: Condition = terms[wanted] as Condition
  for (let n = 0; n < 98; n++)
    deep = {
      kind: n % 2 === 0 ? 'and' : 'or',
      of: [
        deep,
        ...terms.slice(n * 10, n * 10 + 20).map(one => (n % 2 === 0 ? { ...one, negated: true } : one)),
      ] as Condition[],
    }
  assert.match(await list(service, { ...many, where: deep }), /"identifier":"b\/2"/)
  const columnCount = repeats(1_000, 3_000)
  const columns = Array.from(
    { length: columnCount },
    (_, n) =>
      ({
        name: `m${n}`,
        value: shown(n % 2 === 0 ? text('title') : text('metadata', `k${n}`)),
        type: 'text',
      }) as const,
  )
  const wide = JSON.parse(
    await list(service, { ...many, where: terms[wanted] as Condition, shape: rows(columns) }),
  ) as Record<string, unknown>
  assert.equal(Object.keys(wide).length, columnCount)
  assert.equal(wide.m0, 'Land')
  const values = Array.from(
    { length: repeats(50_000, 200_000) },
    (_, n) => ({ kind: 'text', text: `b/${n}` }) as const,
  )
  for (const field of [text('identifier'), text('metadata', 'dc.title')])
    for (const negated of [false, true]) {
      const lines = await list(service, { ...many, where: { kind: 'in', field, values, negated } })
      assert.equal(lines === '' ? 0 : lines.split('\n').length, (field.path.length === 0) === negated ? 0 : 3)
    }
})
