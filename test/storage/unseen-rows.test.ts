import assert from 'node:assert/strict'
import { join } from 'node:path'
import pg from 'pg'
import { builtInEntities } from '../../src/model/built-in-entities.ts'
import type { Entity, Order } from '../../src/model/entities.ts'
import { type Condition, type Constant, type FieldRef, listOf, type Plan } from '../../src/model/plan.ts'
import { countOf, pageOf } from '../../src/storage/postgres/compile.ts'
import { compileTable } from '../../src/storage/sqlite/compile.ts'
import { openDatabase } from '../../src/storage/sqlite/driver.ts'
import { queryFunctions } from '../../src/storage/sqlite/functions.ts'
import { migrate } from '../../src/storage/sqlite/migrate.ts'
import { builtInTable, type TableOf } from '../../src/storage/tables/compile.ts'
import { readByAudience, type VisibleRows } from '../../src/storage/tables/row-visibility.ts'
import { atEnd } from '../support/service/at-end.ts'
import { createStore, runSql } from '../support/service/databases.ts'
import { testOn } from '../support/service/engines.ts'
import { temporaryFolder } from '../support/service/service.ts'

/**
 * Returns a built-in entity. The cost of an answer must not depend on rows that its viewer may not read, so
 * that its time tells nothing about them. The figures are those of the engines' own plans, and don't depend
 * on the pace of the machine.
 */

const entityNamed = (name: string): Entity => {
  const entity = builtInEntities.find(one => one.name === name)
  assert.ok(entity)
  return entity
}
const items = entityNamed('items')
const bitstreams = entityNamed('bitstreams')
const events = entityNamed('audit-events')

const fieldOf = ({ fields }: Entity, name: string): FieldRef => {
  const field = fields.find(one => one.name === name)
  assert.ok(field, name)
  return { name, path: [], type: field.type, ...(field.list && { list: true }) }
}
/** Values of every row that the viewer may not read; of the readable rows, only some have them. */
const secret: Readonly<Record<string, string>> = {
  title: 'Secret',
  issued: '2021',
  type: 'Report',
  created: '2021-01-01T00:00:00.000Z',
  modified: '2021-01-01T00:00:00.000Z',
  identifier: 'unseen/1',
  name: 'secret.pdf',
  sha256: 'aa',
  item: 'unseen-1',
  mime_type: 'application/pdf',
  time: '2021-01-01T00:00:00.000Z',
}
const constant = ({ name, type }: FieldRef): Constant =>
  type === 'date-time'
    ? { kind: 'instant', text: secret[name] ?? '' }
    : { kind: 'text', text: secret[name] ?? '' }

const comparing = (entity: Entity, name: string): readonly (readonly [string, Condition])[] => {
  const field = fieldOf(entity, name)
  const value = constant(field)
  const compare = (operator: '=' | '>=' | '<', negated = false): Condition => ({
    kind: 'compare',
    field,
    operator,
    value,
    negated,
  })
  const keyField = fieldOf(entity, [entity.key].flat().join())
  const among: Condition = { kind: 'in', field, values: [value], negated: false }
  const some: readonly (readonly [string, Condition])[] = [
    ['=', compare('=')],
    ['in', among],
    ['>=', compare('>=')],
    ['<', compare('<')],
    ['!=', compare('=', true)],
    ['or', { kind: 'or', of: [compare('='), { ...among, field: keyField }] }],
    ['and the key', { kind: 'and', of: [compare('='), { ...among, field: keyField }] }],
    ['null?', { kind: 'null', field, negated: true }],
  ]
  const matches: Condition = { kind: 'matches', field, expression: 'e', negated: false }
  return (field.type === 'text' ? [...some, ['~', matches] as const] : some).map(([operator, condition]) => [
    `${entity.name}.${name} ${operator}`,
    condition,
  ])
}

const orders: readonly (readonly Order[])[] = [
  [],
  [{ field: 'title', descending: false }],
  [{ field: 'issued', descending: true }],
  [{ field: 'type', descending: true }],
  [{ field: 'created', descending: true }],
]

const page = { order: [], offset: 3, limit: 5, total: false } as const

function* plansOf(entity: Entity, name: string): Iterable<readonly [string, Plan]> {
  for (const [text, where] of comparing(entity, name)) {
    const plan = { ...listOf(entity, page), where }
    for (const order of entity === items ? orders : [[], [{ field: name, descending: false }]])
      yield [`${text} by ${order[0]?.field}`, { ...plan, page: { ...page, order } }]
    yield [`${text} with its total`, { ...plan, page: { ...page, total: true } }]
    yield [`${text}, all`, { ...plan, page: { ...page, offset: 0, limit: null } }]
    const rows = { kind: 'rows', groups: null, having: null, distinct: false, order: [] } as const
    const column = (field: FieldRef) =>
      ({ name: field.name, value: { kind: 'field', field }, type: field.type }) as const
    const titles = { ...rows, columns: [column(fieldOf(entity, name))] }
    yield [`${text}, a column`, { ...plan, shape: titles }]
    yield [`${text}, different values`, { ...plan, shape: { ...titles, distinct: true } }]
    const count = { kind: 'aggregate', name: 'count', field: null } as const
    yield [
      `${text}, counted`,
      { ...plan, shape: { ...rows, columns: [{ name: 'count', value: count, type: 'integer' }] } },
    ]
    const [outer, by, shown] = entity === items ? [bitstreams, 'item', 'uuid'] : [items, 'uuid', 'item']
    const inner = { ...plan, shape: { ...rows, columns: [column(fieldOf(entity, shown))] } }
    yield [
      `${text}, a subquery`,
      {
        ...listOf(outer, page),
        where: {
          kind: 'in plan',
          fields: [fieldOf(outer, by)],
          plan: { ...inner, page: { ...page, offset: 0, limit: null } },
          negated: false,
        },
      },
    ]
  }
}

const plansOn = (fields: Readonly<Record<'items' | 'bitstreams', readonly string[]>>) => [
  ...fields.items.flatMap(name => [...plansOf(items, name)]),
  ...fields.bitstreams.flatMap(name => [...plansOf(bitstreams, name)]),
  ...orders.map(order => [`all by ${order[0]?.field}`, listOf(items, { ...page, order })] as const),
  ['all, grouped', grouped] as const,
]

const type = { kind: 'field', field: fieldOf(items, 'type') } as const
const grouped: Plan = {
  ...listOf(items, { ...page, limit: null }),
  shape: {
    kind: 'rows',
    columns: [{ name: 'type', value: type, type: 'text' }],
    groups: [type],
    having: null,
    distinct: false,
    order: [],
  },
}

/** Audiences of viewers: one, and several. */
const viewers = [[1], [1, 2, 3]]

/**
 * Accesses limited to the viewer: by an audience, by a whole key, which is one row, or by the item of a few
 * files.
 */
const isOfViewer = /\baudience=|\buuid=|\(identifier=|\(item=/

testOn('sqlite', 'Q14 no statement reads an index or a table but by what its viewer may read', t => {
  const folder = temporaryFolder(t)
  migrate(folder, true)
  const db = openDatabase(join(folder, 'carrel.db'), {
    mode: 'read',
    mayGoOn: () => true,
    ...queryFunctions,
  })
  const plans = plansOn({
    items: ['title', 'issued', 'type', 'created', 'modified', 'identifier'],
    bitstreams: ['name', 'sha256', 'item', 'mime_type', 'created'],
  })
  const wrong: string[] = []
  for (const ids of viewers)
    for (const [name, plan] of plans) {
      const { scan, collect } = compileTable(plan, () => ({ kind: 'audiences', ids }))
      for (const access of [scan, collect])
        for (const statement of [access?.page, access?.total]) {
          if (!statement) continue
          const steps = db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${statement.sql}`, ...statement.values)
          for (const { detail } of steps)
            if (/^(SCAN|SEARCH) (item|bitstream)\b/.test(detail) && !isOfViewer.test(detail))
              wrong.push(`${name} of ${ids.length}: ${detail}`)
        }
    }
  // Epersons see the events about themselves.
  for (const name of ['event', 'object', 'time', 'reason'])
    for (const [text, where] of comparing(events, name))
      for (const by of ['id', 'time']) {
        const order = [{ field: by, descending: false }]
        const plan = { ...listOf(events, { ...page, order }), where }
        const { sql, values } = compileTable(plan, () => ({ kind: 'own', eperson: 'me' })).scan.page
        for (const { detail } of db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values))
          if (/^(SCAN|SEARCH) event\b/.test(detail) && !/\(eperson=/.test(detail))
            wrong.push(`${text} by ${by}: ${detail}`)
      }
  db.close()
  assert.deepEqual(wrong, [])
})

interface Node {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Node[]
}

const readRows = (node: Node): number => {
  const own =
    node['Relation Name'] === 'item' || node['Relation Name'] === 'bitstream'
      ? ((node['Actual Rows'] ?? 0) +
          (node['Rows Removed by Filter'] ?? 0) +
          (node['Rows Removed by Index Recheck'] ?? 0)) *
        (node['Actual Loops'] ?? 0)
      : 0
  return own + (node.Plans ?? []).reduce((sum, one) => sum + readRows(one), 0)
}

testOn(
  'postgres',
  'Q14 statements read a few of thousands of rows that their viewer may not read',
  async t => {
    const url = await createStore(t)
    const [seen, unseen] = [60, 6_000]
    await runSql(
      url,
      `INSERT INTO carrel.audience (id, readers) VALUES (1, '1'), (2, '2'), (3, '3'), (4, '4');
     INSERT INTO carrel.item (uuid, identifier, title, authors, issued, type, metadata, collections, audience, fingerprint,
         created, modified)
       SELECT CASE WHEN n > ${seen} THEN 'un' ELSE '' END || 'seen-' || n, CASE WHEN n > ${seen} THEN 'un' ELSE '' END || 'seen/' || n,
         CASE WHEN n > ${seen} THEN 'Secret' ELSE 'Title ' || n END, '[]', CASE WHEN n > ${seen} THEN '2021' ELSE '19' || 10 + n END,
         CASE WHEN n > ${seen} THEN 'Report' ELSE 'Letter' END, '{}', '[]', CASE WHEN n > ${seen} THEN 4 ELSE 1 + n % 3 END, '',
         to_char(2021 - n % ${seen}, 'FM9999') || '-01-01T00:00:00.000Z', to_char(2021 - n % ${seen}, 'FM9999') || '-01-01T00:00:00.000Z'
       FROM generate_series(1, ${seen + unseen}) AS n;
     INSERT INTO carrel.bitstream (uuid, item, bundle, name, place, mime_type, size, sha256, audience, created)
       SELECT 'file-' || uuid, CASE audience WHEN 4 THEN 'unseen-' || 1 + ${seen} ELSE uuid END, 'ORIGINAL' || uuid,
         CASE audience WHEN 4 THEN 'secret.pdf' ELSE uuid || '.pdf' END, 1, 'application/pdf', 1,
         CASE audience WHEN 4 THEN 'aa' ELSE uuid END, audience, created
       FROM carrel.item;
     ANALYZE carrel.item; ANALYZE carrel.bitstream`,
    )
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('SET search_path = carrel')
    atEnd(t, () => client.end())
    // Each statement takes long enough that fields similar to others are left out.
    const plans = plansOn({ items: ['title', 'type', 'created', 'identifier'], bitstreams: ['name', 'item'] })
    const tooMany: string[] = []
    for (const ids of viewers) {
      const rows: VisibleRows = { kind: 'audiences', ids }
      const tableOf: TableOf = entity =>
        entity.source.kind === 'table' ? builtInTable(entity, entity.source, rows) : assert.fail()
      for (const [name, plan] of plans) {
        const tables = { tableOf, way: readByAudience(plan, rows) ?? ('scan' as const) }
        for (const statement of [pageOf(plan, tables), countOf(plan, tables)]) {
          if (!statement) continue
          const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: Node }[] }>(
            `EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF, SUMMARY OFF) ${statement.sql}`,
            [...statement.values],
          )
          const read = Math.round(readRows(rows[0]?.['QUERY PLAN'][0]?.Plan ?? {}))
          if (read > 5 * seen) tooMany.push(`${name} of ${ids.length}: ${read}`)
        }
      }
    }
    assert.deepEqual(tooMany, [])
  },
)
