import assert from 'node:assert/strict'
import type { Ast } from './arbitrary-conditions.ts'
import { printAst } from './arbitrary-conditions.ts'
import type { AskedQuery } from './arbitrary-queries.ts'
import type { Kind } from './oracle.ts'
import { type KnownEntity, type KnownRelation, type World, withRelated } from './query-oracle.ts'
import type { Answer, AskedPage, Cell } from './query-oracle-rows.ts'
import { tableNames } from './query-tables.ts'
import { identity } from './query-values.ts'
import { type Json, type JsonObject, readJson } from './raw-json.ts'

/** An answer of a service over HTTP, to be compared with that of the oracle. */
export interface Response200 {
  readonly body: string
  readonly total: string | null
  /** True if a link leads to the next page; undefined without links. */
  readonly next: boolean | undefined
}

export interface Asking {
  readonly address: string
  readonly headers?: Readonly<Record<string, string>>
}

const base = '/api/query/v4'

/** @param entity null for the base @param query an AST or PQL @param counts false requests no total */
export async function ask(
  { address, headers = {} }: Asking,
  entity: string | null,
  query: string | null,
  page: AskedPage = {},
  counts = true,
): Promise<{ readonly status: number } & Response200> {
  const parameters = new URLSearchParams({
    ...(query === null ? {} : { query }),
    ...(page.order ? { order_by: JSON.stringify(page.order) } : {}),
    ...(page.limit === undefined ? {} : { limit: String(page.limit) }),
    ...(page.offset === undefined ? {} : { offset: String(page.offset) }),
    ...(counts && { include_total: 'true' }),
  })
  const response = await fetch(`${address}${base}${entity === null ? '' : `/${entity}`}?${parameters}`, {
    headers,
  })
  const bytes = await response.arrayBuffer()
  return {
    status: response.status,
    body: new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes),
    total: response.headers.get('x-records'),
    next: response.headers.get('link')?.includes('rel="next"'),
  }
}

/** Reads the entities that the caller sees, as the world of the oracle. */
export async function worldOf(
  asking: Asking,
  names: readonly string[],
  relations: readonly KnownRelation[] = [],
): Promise<World> {
  const { address, headers = {} } = asking
  const described = (await (await fetch(`${address}${base}`, { headers })).json()) as Described[]
  const entities = new Map<string, KnownEntity>()
  for (const { name, key, fields } of described) {
    if (!names.includes(name)) continue
    const { body, status } = await ask(asking, name, null)
    assert.equal(status, 200, body)
    const list = readJson(body)
    const records = list.kind === 'array' ? (list.items as readonly JsonObject[]) : []
    const isTable = tables.includes(name)
    const known = isTable ? fields.map(field => ({ ...field, keepsZeros: true })) : fields
    entities.set(name, { name, key: [key].flat(), fields: known, records })
  }
  return withRelated({ entities, relations }, tables)
}

/** Entities that are tables of the database: exposed ones, and those that are built in. */
const tables: readonly string[] = [
  ...Object.values(tableNames),
  'items',
  'bitstreams',
  'epersons',
  'groups',
  'audit-events',
]

interface Described {
  readonly name: string
  readonly key: string | readonly string[]
  readonly fields: readonly { readonly name: string; readonly type: Kind; readonly nullable: boolean }[]
}

/**
 * Compares an answer with the expected one. The value of a group may be any of the equal values in its
 * records; all other values must be written as in a record.
 */
export function assertAnswer(
  { body, total, next }: Response200,
  expected: Answer,
  what: string,
  counts = true,
): void {
  assert.equal(total, counts ? String(expected.total) : null, `X-Records of ${what}`)
  assert.equal(next ?? expected.more, expected.more, `Link of ${what}`)
  const list = readJson(body)
  const rows = list.kind === 'array' ? (list.items as readonly JsonObject[]) : []
  assert.equal(body, `[${rows.map(({ raw }) => raw).join()}]`)
  const shown = rows.map(row => (isLike(row, expected.rows[rows.indexOf(row)]) ? 'as expected' : row.raw))
  if (rows.length === expected.rows.length && shown.every(one => one === 'as expected')) return
  assert.deepEqual(
    rows.map(({ raw }) => raw),
    expected.rows.map(rowText),
    what,
  )
  assert.fail(`${what}: ${body}`)
}

function isLike(row: JsonObject, expected: ReadonlyMap<string, Cell> | undefined): boolean {
  if (!expected || [...row.members.keys()].join('\n') !== [...expected.keys()].join('\n')) return false
  if ([...expected.values()].every(({ exact }) => exact)) return row.raw === rowText(expected)
  return [...expected].every(([name, cell]) => isCell(row.members.get(name) as Json, cell))
}

function isCell(json: Json, { type, json: wanted, exact, within }: Cell): boolean {
  if (exact) return json.raw === wanted.raw
  if (json.kind === 'null' || wanted.kind === 'null') return json.kind === wanted.kind
  if (within !== undefined) return Math.abs(Number(json.raw) - Number(wanted.raw)) <= within
  return identity(type, json) === identity(type, wanted)
}

const rowText = (row: ReadonlyMap<string, Cell>): string =>
  `{${[...row].map(([name, { json }]) => `${JSON.stringify(name)}:${json.raw}`).join()}}`

/** Describes a query in the message of a failure. */
export const described = ({ entity, ast, page }: AskedQuery): string =>
  `${entity ?? ''}?query=${printAst(ast as Ast)} ${JSON.stringify(page)}`
