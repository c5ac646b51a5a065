import type { Entity, Page } from '../../model/entities.ts'
import type { Condition, FieldRef, Plan } from '../../model/plan.ts'
import { totalOrder } from '../plans/total-order.ts'
import { type Cell, createBinder, type Dialect } from '../tables/cells.ts'
import { maskOf } from '../tables/hidden-metadata.ts'
import { isOfRecords } from '../tables/plan-shape.ts'
import { compileRows, rowAsJson } from '../tables/row-statement.ts'
import { readByAudience } from '../tables/row-visibility.ts'
import { createDialect, fieldCell, quoteName, shownColumn } from './cells.ts'
import { compileCondition } from './conditions.ts'
import type { Value } from './driver.ts'
import { asJsonb } from './json.ts'
import { audiencesApart, type Bind, isIn, type RowSelection, visible } from './row-selection.ts'

/** SQL for entities that are tables. Pure: names come from the entity's own fields, and values are bound. */
export interface Statement {
  readonly sql: string
  readonly values: readonly Value[]
}

/** A table or view to read, and which of its rows. */
export interface TableShape {
  /** The quoted name, with the schema. */
  readonly table: string
  readonly isExposed: boolean
  /** Fields whose values are compared as text by code point, whatever the column's type (Q6). */
  readonly asText: readonly string[]
  /** Whether JSON values may contain line breaks between tokens. They are replaced, because a record is one line (NDJSON). */
  readonly mayHaveLineBreaks: boolean
  readonly rows: RowSelection
}

/** The tables that a plan may read: of the listed entity, and of those inside. */
export type TableOf = (entity: Entity) => TableShape

const hiddenOf = ({ rows }: TableShape) => (rows.kind === 'audiences' ? rows.hidden : undefined)

/** What a plan reads: the visible rows that fulfil the condition, and how its values are written. */
interface Selection {
  readonly entity: Entity
  readonly dialect: Dialect
  /** Made last, because it finds the values that the others need. */
  readonly from: (order?: string) => string
  readonly condition: (condition: Condition, cell: (field: FieldRef) => Cell) => string
}

/** @param first how many rows are wanted of what isn't inside of another plan; null: all */
function select(plan: Plan, tableOf: TableOf, bind: Bind, first?: number | null): Selection {
  const { entity, where, shape } = plan
  const source = tableOf(entity)
  const { isExposed, asText, rows, mayHaveLineBreaks, table } = source
  const field = (name: string) => fieldCell(entity, name, { isExposed, asText, hidden: hiddenOf(source) })
  const found = new Map<string, string>()
  const once = (sql: string) => {
    const name = found.get(sql) ?? `o.x${found.size}`
    found.set(sql, name)
    return name
  }
  const inner = (plan: Plan) => compileInner(plan, tableOf, bind)
  const condition: Selection['condition'] = (one, cell) =>
    compileCondition(one, { bind, cell, jsonb: ref => asJsonb(cell(ref).sql), inner })
  // With a condition PostgreSQL chooses the index.
  const isFiltered = where !== null || shape.kind === 'rows'
  const apart = first === undefined ? [] : audiencesApart(plan, rows)
  const isMerged = readByAudience(plan, rows) === 'merge' && first !== null
  const seen = apart.length > 0 ? '' : visible(rows, bind, isFiltered)
  const scope = {
    bind,
    cell: ({ name }: FieldRef) => field(name),
    jsonb: ({ name }: FieldRef) => once(asJsonb(field(name).sql)),
    inner,
  }
  const filter = where === null ? '' : `(${compileCondition(where, scope)})`
  // Rows have a WHERE to add to.
  const open = shape.kind === 'rows' && seen === '' && filter === '' ? 'WHERE true' : seen
  const from = (open: string) => {
    const clause = filter === '' ? open : `${open === '' ? 'WHERE' : `${open} AND`} ${filter}`
    return `FROM ${table} t ${lateral(found)}${clause}`
  }
  return {
    entity,
    dialect: createDialect({ bind, field, once, mayHaveLineBreaks }),
    from: (order = '') => {
      if (apart.length === 0) return from(open)
      const rest = isMerged ? `${orderClause(order)}LIMIT ${bind(first ?? 0)}` : ''
      const parts = apart.map(id => `(SELECT t.* ${from(isIn(id, bind))} ${rest})`)
      return `FROM (${parts.join(' UNION ALL ')}) t ${lateral(found)}${shape.kind === 'rows' ? 'WHERE true' : ''}`
    },
    condition,
  }
}

/** Values that are found once for each record, and not wherever they are used. */
function lateral(found: ReadonlyMap<string, string>): string {
  const columns = [...found].map(([sql, name]) => `${sql} AS ${name.slice('o.'.length)}`)
  return columns.length === 0 ? '' : `CROSS JOIN LATERAL (SELECT ${columns.join(', ')} OFFSET 0) AS o `
}

/** Returns rows of one column, `json`: the record. PostgreSQL sorts nulls last ascending and first descending by default. */
export function compilePage(plan: Plan, tableOf: TableOf, binder = createBinder<Value>('$')): Statement {
  const { bind, values } = binder
  const { page } = plan
  const window = `LIMIT ${bind(page.limit)} OFFSET ${bind(page.offset)}`
  if (plan.shape.kind === 'records')
    return { sql: recordPage(plan, tableOf(plan.entity), tableOf, bind, window), values }
  const selection = select(plan, tableOf, bind, endOf(page))
  const { from, cells, order } = compileRows(plan.shape, selection)
  const json = rowAsJson(plan.shape, cells(), selection.dialect)
  const sorted = order()
  const withOrder = `${isOfRecords(plan.shape) ? selection.from(sorted) : from()} ${orderClause(sorted)}`
  return { sql: `SELECT ${json} AS json ${withOrder}${window}`, values }
}

const orderClause = (order: string) => (order === '' ? '' : `ORDER BY ${order} `)

function recordPage(plan: Plan, source: TableShape, tableOf: TableOf, bind: Bind, window: string): string {
  const { entity, page, where } = plan
  const { fields } = entity
  const { rows, asText, mayHaveLineBreaks, table } = source
  const hidden = hiddenOf(source)
  const columns = fields
    .map(({ name }) =>
      maskOf(name, hidden) ? `${shownColumn(name, hidden)} AS ${quoteName(name)}` : shownColumn(name, hidden),
    )
    .join(', ')
  // A column of the same name would shadow the row.
  const row = quoteName(unusedName(fields))
  const order = totalOrder(entity, page.order)
    .map(({ field, descending }) => {
      const column = shownColumn(field, hidden)
      const compared = asText.includes(field) ? `CAST(${column} AS TEXT) COLLATE "C"` : column
      return `${compared} ${descending ? 'DESC' : 'ASC'}`
    })
    .join(', ')
  const json = `CAST(row_to_json(${row}) AS TEXT)`
  const inOneLine = mayHaveLineBreaks ? `translate(${json}, chr(10) || chr(13), '  ')` : json
  const isCollected =
    where === null && rows.kind === 'audiences' && rows.collect && readByAudience(plan, rows) === null
  const from = isCollected
    ? `FROM (SELECT * FROM ${table} t ${visible(rows, bind, false)} OFFSET 0) t`
    : select(plan, tableOf, bind, endOf(page)).from(order)
  // The inner select picks the rows of the page; only those are converted to JSON.
  return `SELECT ${inOneLine} AS json FROM (SELECT ${columns} ${from} ORDER BY ${order} ${window}) ${row}`
}

/** A name that no field has. */
function unusedName(fields: Entity['fields']): string {
  const names = new Set(fields.map(field => field.name))
  let name = 'record'
  while (names.has(name)) name += '_'
  return name
}

/**
 * Counts the records or rows. If no total was requested, it counts only far enough to tell whether more follow the page.
 * @param binder of the statement that this one is a part of
 */
export function compileCount(
  plan: Plan,
  tableOf: TableOf,
  binder = createBinder<Value>('$'),
): Statement | undefined {
  const { page, where, shape, entity } = plan
  if (!page.total && page.limit === null) return undefined
  const { bind, values } = binder
  const { rows } = tableOf(entity)
  const isFiltered = where !== null || shape.kind === 'rows'
  if (!isFiltered && (rows.kind === 'audiences' || rows.kind === 'counted'))
    return { sql: countAudiences(rows, bind), values }
  const needed = page.total ? null : lastNeeded(page)
  const most = needed === null ? '' : ` LIMIT ${bind(needed)}`
  const selection = select(plan, tableOf, bind, needed)
  const from = (shape.kind === 'rows' ? compileRows(shape, selection) : selection).from()
  return {
    sql: page.total
      ? `SELECT count(*) AS count ${from}`
      : `SELECT count(*) AS count FROM (SELECT 1 ${from}${most}) counted`,
    values,
  }
}

/** The position after the last row of a page. */
const endOf = ({ offset, limit }: Page) =>
  limit === null ? null : Math.min(offset + limit, Number.MAX_SAFE_INTEGER)

const lastNeeded = ({ offset, limit }: Page) => Math.min(offset + (limit ?? 0) + 1, Number.MAX_SAFE_INTEGER)

const countAudiences = (rows: Extract<RowSelection, { counter: string }>, bind: Bind) =>
  `SELECT coalesce(CAST(sum(${rows.counter}) AS BIGINT), 0) AS count FROM audience${
    rows.kind === 'audiences' ? ` WHERE id = ANY(${bind(rows.ids)}::integer[])` : ''
  }`

/** Returns one row: `body`, the page's records joined by the separator, and `count` as from `compileCount`. */
export function compileShortPage(plan: Plan, tableOf: TableOf, separator: string): Statement {
  const binder = createBinder<Value>('$')
  const records = compilePage(plan, tableOf, binder)
  const joiner = binder.bind(separator)
  const count = compileCount(plan, tableOf, binder)
  return {
    sql: `SELECT ${count ? `(${count.sql})` : 'NULL'} AS count, (SELECT string_agg(json, ${joiner}) FROM (${records.sql}) page) AS body`,
    values: binder.values,
  }
}

/** The rows of a subquery, each with values `c0`, `c1`, …: with its own visibility and hidden fields (Q11, Q19). */
function compileInner(plan: Plan, tableOf: TableOf, bind: Bind) {
  const { shape, page } = plan
  if (shape.kind !== 'rows') throw new Error('a subquery selects values')
  const selection = select(plan, tableOf, bind)
  const { from, cells, order } = compileRows(shape, selection)
  const values = cells()
  const columns = values.map(({ sql }, at) => `${sql} AS c${at}`).join(', ')
  const isCut = page.limit !== null || page.offset > 0
  const window = isCut ? ` ${orderClause(order())}LIMIT ${bind(page.limit)} OFFSET ${bind(page.offset)}` : ''
  return {
    sql: `SELECT ${columns} ${from()}${window}`,
    cells: values.map(({ sort: _, indexed: __, ...cell }, at): Cell => ({ ...cell, sql: `i.c${at}` })),
  }
}
