import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { parseExact } from '../../src/lib/json.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { Metadata } from '../../src/model/items.ts'
import { listOf, type Plan } from '../../src/model/plan.ts'
import type { Viewer } from '../../src/model/readers.ts'
import { readTextQuery } from '../../src/model/text-query.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { answer, type Shown } from '../support/data/plan-oracle.ts'
import { createPlans, createRandom } from '../support/data/random-plans.ts'
import { addItem, anyEperson, everybody, membersOf } from '../support/data/repository.ts'
import { repeats } from '../support/scale.ts'
import { test, testOn } from '../support/service/engines.ts'
import { exposeIn, withTables } from '../support/service/exposed-tables.ts'
import { startService } from '../support/service/service.ts'

/** Plans on tables against a plain reading of them, over what a viewer's lists show. */

const here = { network: '127.0.0.1', signal: () => new AbortController().signal } as const

const readerOf = (eperson: string | null, ...groups: string[]): Viewer => ({
  kind: 'reader',
  eperson,
  groups: new Set(groups),
})
const administrator: Viewer = { kind: 'administrator' }

async function linesOf({ entities }: Pick<Storage, 'entities'>, plan: Plan, viewer: Viewer) {
  const { total, more, body } = await entities.list(plan, viewer, 'ndjson', here)
  const pieces: Uint8Array[] = []
  if (body instanceof Uint8Array) pieces.push(body)
  else for await (const piece of body) pieces.push(piece)
  const lines = pieces.flatMap(piece => {
    const text = Buffer.from(piece).toString()
    return text === '' ? [] : text.split('\n')
  })
  return { total, more, lines }
}

const everything = { order: [], offset: 0, limit: null, total: false } as const

async function worldOf(storage: Storage, entities: readonly Entity[], viewer: Viewer) {
  const shown = new Map<string, readonly Shown[]>()
  for (const entity of entities) {
    const { lines } = await linesOf(storage, listOf(entity, everything), viewer)
    shown.set(
      entity.name,
      lines.map(line => parseExact(line) as Shown),
    )
  }
  return (name: string) => shown.get(name) ?? []
}

interface Trial {
  readonly storage: Storage
  readonly viewers: readonly Viewer[]
  readonly names: readonly string[]
  /** Further entities of subqueries. */
  readonly inner?: readonly string[]
  readonly expressions: readonly string[]
  readonly seed: number
  readonly count: number
}

async function compare({
  storage,
  viewers,
  names,
  inner = [],
  expressions,
  seed,
  count,
}: Trial): Promise<void> {
  const all = await storage.entities.all()
  const entities = names.map(name => all.get(name) as Entity)
  const both = [...names, ...inner].map(name => all.get(name) as Entity)
  const random = createRandom(seed)
  for (const viewer of viewers) {
    const world = await worldOf(storage, both, viewer)
    const next = createPlans({ random, world, inner: both, expressions, searches })
    for (let n = 0; n < count; n++) {
      const plan = comparable(next(random.pick(entities)))
      const expected = answer(plan, world)
      const says = () =>
        JSON.stringify({ ...plan, entity: plan.entity.name }, (key, value: unknown) =>
          key === 'entity' && typeof value === 'object' ? (value as Entity).name : value,
        )
      const { total, more, lines } = await linesOf(storage, plan, viewer).catch((error: unknown) => {
        throw new Error(`${n}: ${says()}`, { cause: error })
      })
      const found = lines.map(line => JSON.stringify(parseExact(line)))
      if (sortsJson(plan)) assert.deepEqual(found.toSorted(), expected.rows.toSorted(), `${n}: ${says()}`)
      else assert.deepEqual(found, expected.rows, `${n}: ${says()}`)
      if (plan.page.total) assert.equal(total, expected.total, `${n}: ${says()}`)
      const { offset, limit } = plan.page
      if (limit !== null && more !== undefined)
        assert.equal(more, offset + limit < expected.total, `${n}: ${says()}`)
    }
  }
}

/**
 * Whether nested JSON is sorted by how it is written, which isn't what is left of it here. The built-in tables have one
 * way to write it.
 */
const sortsJson = ({ entity, shape }: Plan) =>
  entity.source.kind === 'exposed' &&
  shape.kind === 'rows' &&
  [
    ...shape.order.map(({ by }) => (typeof by === 'number' ? shape.columns[by]?.value : by)),
    ...(shape.groups ?? []),
    ...(shape.distinct ? shape.columns.map(({ value }) => value) : []),
  ].some(value => value?.kind === 'field' && value.field.type === 'json')

const comparable = (plan: Plan): Plan =>
  sortsJson(plan) ? { ...plan, page: { ...plan.page, offset: 0, limit: null } } : plan

const titles = [
  'a',
  'B',
  'b',
  'ä',
  '10',
  '9',
  '',
  '\u{10000}',
  '\uffff',
  'a"b\'c\\',
  'line\nbreak',
  'a',
  'zebra',
  'Zebra',
]

const metadataOf = (n: number): Metadata => ({
  ...(n % 5 === 4
    ? {}
    : { 'dc.title': [{ value: titles[n % titles.length] ?? '', language: n % 2 === 0 ? 'en' : null }] }),
  ...(n % 3 === 0
    ? {}
    : {
        'dc.contributor.author': Array.from({ length: n % 4 }, (_, k) => ({
          value: `Author ${(n + k) % 5}`,
          language: null,
        })),
      }),
  ...(n % 4 === 0 ? { 'dc.type': [{ value: n % 8 === 0 ? 'Thesis' : 'Article', language: null }] } : {}),
  ...(n % 2 === 0 ? { 'dc.date.issued': [{ value: String(1990 + (n % 3)), language: null }] } : {}),
  'dc.description.provenance': [{ value: `secret ${n}`, language: 'en' }],
  'it\'s "odd".key': [{ value: '\u0001', language: `${n % 2}` }],
})

/** Values that the tables have, too, and some that they can't have. */
const imported = [
  { id: 1, text: 'a', number: 1, flag: true, at: '2020-06-30T14:00:00.123456+02:00', json: ['Author 1', 1] },
  {
    id: 2,
    text: 'b\0',
    number: 2.5,
    flag: null,
    at: '2020-06-30T12:00:00Z',
    json: { a: 1, b: [1, 2, { c: null }] },
  },
  {
    id: 3,
    text: 'zebra',
    number: 9223372036854776000,
    flag: false,
    at: '0000-01-01T00:00:00Z',
    json: 'text',
  },
  {
    id: 4,
    text: '',
    number: null,
    flag: true,
    at: '2016-12-31T23:59:60Z',
    json: { value: 'Author 2', language: null },
  },
  { id: 5, text: 'file 0', number: -3, flag: true, at: null, json: 100 },
  {
    id: 6,
    text: '\ud800',
    number: 1e300,
    flag: true,
    at: '2020-06-30T12:00:00.1234567Z',
    json: '\u0000\ud800',
  },
]

async function repository(t: TestContext) {
  const service = await startService(t, {
    env: { CARREL_HIDDEN_METADATA: 'dc.description.provenance,dc.type,dc.contributor.author' },
  })
  const ruth = await service.addEperson('ruth@example.org', { groups: ['Staff', 'Students'] })
  await service.addEperson('admin@example.org', { admin: true })
  await service.addEperson('Zoë@example.org')
  await service.client().login('ruth@example.org')
  const readers = [everybody, anyEperson, membersOf('Staff'), membersOf('Nobody'), []]
  for (let n = 0; n < 24; n++)
    await addItem(service, {
      identifier: `a/${n}`,
      metadata: metadataOf(n),
      collections: n % 3 === 0 ? ['c/1', 'c/2'] : [],
      readers: readers[n % readers.length] ?? [],
      files: Array.from({ length: n % 3 }, (_, k) => ({
        name: `file ${k}`,
        content: 'x'.repeat(n * k),
        mimeType: k === 0 ? 'text/plain' : 'application/pdf',
        ...(k === 1 && { readers: membersOf('Students'), description: `page ${n % 2}` }),
      })),
    })
  return { service, ruth }
}

const expressions = ['a', '^A', 'secret', 'b$', '[0-9]{2}', '^$', '.', 'x|Author [12]', '^.{1,3}$', '\\\\']
const searches = ['a', 'auth*', '"author 1"', 'secret', 'zebra', 'thesis', 'admin', 'page', 'b c', 'x'].map(
  readTextQuery,
)
const seed = 42

test('Q20 Q21 Q22 plans on the built-in tables answer what a plain reading of the viewer’s lists answers', async t => {
  const { service, ruth } = await repository(t)
  await service.addRecords('imported', 'id', imported)
  const viewers = [administrator, readerOf(ruth.uuid, 'Staff', 'Students'), readerOf(null)]
  const names = ['items', 'bitstreams', 'groups', 'epersons', 'audit-events']
  const inner = ['imported']
  await compare({
    storage: service.storage,
    viewers,
    names,
    inner,
    expressions,
    seed,
    count: repeats(250, 5_000),
  })
})

const wide = '1234567890123456789012345678901234567890'

testOn(
  'postgres',
  'Q20 Q21 Q22 plans on exposed tables answer what a plain reading of their lists answers',
  async t => {
    const { service } = await withTables(
      t,
      `CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
     CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
     CREATE TABLE things (id integer PRIMARY KEY, word text COLLATE "en-x-icu", same text COLLATE blind, mood mood,
       small smallint, large bigint, price numeric, ratio double precision, part real, flag boolean, at timestamptz,
       day date, code uuid, doc json, docb jsonb, list integer[], words text[]);
     INSERT INTO things SELECT n,
       (ARRAY['b', 'B', 'a', 'ä', 'Z', '', NULL, U&'\\+010000', U&'\\FFFF'])[n % 9 + 1],
       (ARRAY['e', 'E', 'é', 'f', NULL])[n % 5 + 1],
       (ARRAY['sad', 'ok', 'happy', NULL]::mood[])[n % 4 + 1],
       n % 7 - 3, (ARRAY[9223372036854775807, -9223372036854775808, 0, NULL])[n % 4 + 1],
       (ARRAY[1.5, 1.50, 0.1, -7, ${wide}, 0.1000000000000000055511151231257827021181, NULL])[n % 7 + 1],
       (ARRAY[0.1, 1e300, -0.0, 1.7976931348623157e308, 5e-324, NULL, 0.30000000000000004])[n % 7 + 1],
       (ARRAY[0.1, 1.5e-30, NULL])[n % 3 + 1], (ARRAY[true, false, NULL])[n % 3 + 1],
       (ARRAY['2020-06-30 14:00:00.123456+02', '2020-06-30 12:00:00Z', '1999-12-31 23:59:59.999999Z', NULL]::timestamptz[])[n % 4 + 1],
       (ARRAY['2020-06-30', '0999-01-01', NULL]::date[])[n % 3 + 1],
       (ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL]::uuid[])[n % 2 + 1],
       (ARRAY['{"a": [1, 1.0, "1", true, null], "b": {"c": 1e2}}', '[1, "x", null, [1]]', '"text"', '  null ', NULL,
         '{"a": ${wide}, "b": "\\ud83d\\ude00 \\u00e9", "c": {"d": [{"e": 1}]}}', '{"b": {"c": 100}, "a": [1.00, 1, "1", true, null]}',
         '12.50', 'true', '{"a": {"b": "c\\\\u0041\\\\"}, "x": [[], {}]}', '{"0": "key", "__proto__": 5}', '["a", "b", 3]']::json[])[n % 12 + 1],
       (ARRAY['{"a": 1, "b": [1, 2, {"c": null}]}', '[1, 2]', '"a"', 'null', NULL, '1.0', '{"b": [1, 2, {"c": null}], "a": 1.0}']::jsonb[])[n % 7 + 1],
       (ARRAY['{1,NULL,3}', '{}', NULL, '{2}'])[n % 4 + 1]::integer[],
       (ARRAY['{a,"b c"}', '{}', NULL])[n % 3 + 1]::text[]
     FROM generate_series(1, 40) n;
     CREATE TABLE others (key text COLLATE "en-x-icu" PRIMARY KEY, thing integer, at timestamptz, doc jsonb);
     INSERT INTO others VALUES ('a', 1, '2020-06-30 12:00:00Z', '1'), ('B', 2, NULL, '"x"'), ('b', 3, '2020-06-30 12:00:00.123456Z', '{"a": 1}'),
       ('ä', NULL, NULL, NULL), ('', 4, NULL, '[1, 2]')`,
    )
    await exposeIn(service, 'things')
    await exposeIn(service, 'others')
    await service.addRecords('imported', 'id', imported)
    const inner = ['imported', 'groups', 'epersons']
    const names = ['things', 'others']
    await compare({
      storage: service.storage,
      viewers: [administrator],
      names,
      inner,
      expressions,
      seed,
      count: repeats(600, 10_000),
    })
  },
)
