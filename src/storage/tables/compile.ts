import { type Entity, type Page, type TableSource, totalOrder } from '../../model/entities.ts'
import type { Condition, FieldRef, Plan } from '../../model/plan.ts'
import { type Bind, type Binder, type Cell, createBinder, fieldNamed, outside, quoteName } from './cells.ts'
import { compileCondition } from './conditions.ts'
import type { Dialect, Inner, ReadTable } from './dialect.ts'
import { isFiltered, isOfRecords } from './plan-shape.ts'
import { compileRows, rowAsJson } from './row-statement.ts'
import { readByAudience, type VisibleRows, viewPrefixes, type Way } from './row-visibility.ts'
import { createValueWriter, fieldCell, shownColumn, type ValueWriter } from './values.ts'

/** SQL for entities that are tables. Pure: names come from the entity's own fields, and values are bound. */
export interface Statement<V> {
  readonly sql: string
  readonly values: readonly V[]
}

/** A database that statements are for, with the values that it binds. */
export interface Database<V> {
  /** The character before the number of a placeholder. */
  readonly mark: '?' | '$'
  readonly dialect: (bind: Bind<V>) => Dialect
}

/** The tables that a plan may read: of the listed entity, and of those inside. */
export type TableOf = (entity: Entity) => ReadTable

export const builtInTable = ({ fields }: Entity, { table }: TableSource, rows: VisibleRows): ReadTable => ({
  name: quoteName(`${viewPrefixes[rows.kind]}${table}`),
  rows,
  isExposed: false,
  // The embedded store keeps JSON as text, so both engines compare it as text.
  asText: fields.filter(field => field.type === 'json').map(field => field.name),
})

/** The position after the last row of a page; null: it has no limit. */
export const endOf = ({ offset, limit }: Page): number | null =>
  limit === null ? null : Math.min(offset + limit, Number.MAX_SAFE_INTEGER)

/** The visible rows that fulfill a plan's condition, and the writer of its values. */
interface Selection {
  readonly entity: Entity
  readonly writer: ValueWriter
  /** To be called last, because it computes the values that the others need. */
  readonly from: (order?: string) => string
  readonly condition: (condition: Condition, cell: (field: FieldRef) => Cell) => string
}

const columnOf = (name: string) => `t.${quoteName(name)}`

/** @param first as in `Reading` */
function select(
  plan: Plan,
  tableOf: TableOf,
  dialect: Dialect,
  way: Way,
  first: number | null | undefined,
): Selection {
  const { entity, where } = plan
  const table = tableOf(entity)
  const key = columnOf([entity.key].flat().join())
  const { once, own, from } = dialect.read({ table, way, isFiltered: isFiltered(plan), key, first })
  const field = (name: string) => fieldCell(entity, name, columnOf(name), table, dialect)
  const inner = (plan: Plan) => compileInner(plan, tableOf, dialect)
  const writer = createValueWriter({ dialect, table, field, once })
  // A computed cell is written once, because a statement must use all that it binds.
  const computed = new Map<string, Cell>()
  const cell = (ref: FieldRef): Cell => {
    if (ref.computed === undefined) return field(ref.name)
    const name = JSON.stringify(ref)
    const known = computed.get(name) ?? writer.scalar({ kind: 'field', field: ref })
    computed.set(name, known)
    return known
  }
  const parsed = ({ name }: FieldRef) => dialect.parsed(field(name).sql, once)
  const filter = where === null ? '' : `(${compileCondition(where, { dialect, cell, parsed, inner, own })})`
  return {
    entity,
    writer,
    from: (order = '') => from(filter, order),
    condition: (one, cell) => {
      const parsed = (ref: FieldRef) => dialect.parsed(cell(ref).sql, sql => sql)
      return compileCondition(one, { dialect, cell, parsed, inner })
    },
  }
}

const orderClause = (order: string) => (order === '' ? '' : `ORDER BY ${order} `)

/** Selects one column, `json`: the record or row. */
export function compilePage<V>(
  database: Database<V>,
  plan: Plan,
  tableOf: TableOf,
  way: Way,
  { bind, values }: Binder<V> = createBinder<V>(database.mark),
): Statement<V> {
  const dialect = database.dialect(bind)
  const { page, shape, entity } = plan
  const selection = select(plan, tableOf, dialect, way, endOf(page))
  const { writer } = selection
  const window = () => dialect.window(page.limit, page.offset)
  if (shape.kind === 'records') {
    const table = tableOf(entity)
    const order = totalOrder(entity, page.order)
      .map(({ field, descending }) => writer.sort(writer.scalar(fieldNamed(field, 'text')), descending))
      .join(', ')
    const columns = entity.fields.map(({ name, type }) => ({
      name,
      type,
      sql: shownColumn(name, columnOf(name), table, dialect),
    }))
    const rows = `${selection.from(order)} ORDER BY ${order} ${window()}`
    return { sql: dialect.recordPage(columns, rows, table), values }
  }
  const { from, cells, order } = compileRows(shape, selection)
  const json = rowAsJson(shape, cells(), writer)
  const sorted = order()
  const read = isOfRecords(shape) ? selection.from(sorted) : from()
  return { sql: `SELECT ${json} AS json ${read} ${orderClause(sorted)}${window()}`, values }
}

/** Counts the records or rows; if no total was requested, only far enough to tell if more follow the page. */
export function compileTotal<V>(
  database: Database<V>,
  plan: Plan,
  tableOf: TableOf,
  way: Way,
  { bind, values }: Binder<V> = createBinder<V>(database.mark),
): Statement<V> {
  const dialect = database.dialect(bind)
  const { page, shape } = plan
  const needed = page.total ? null : Math.min((endOf(page) ?? page.offset) + 1, Number.MAX_SAFE_INTEGER)
  const selection = select(plan, tableOf, dialect, way, needed)
  const from = (shape.kind === 'rows' ? compileRows(shape, selection) : selection).from()
  if (needed === null) return { sql: `SELECT count(*) AS count ${from}`, values }
  const most = dialect.bindNumber(needed)
  return { sql: `SELECT count(*) AS count FROM (SELECT 1 ${from} LIMIT ${most}) AS counted`, values }
}

/** The rows of a subquery, with values `c0`, `c1`, …, and its own visibility and hidden fields (Q11, Q19). */
function compileInner(plan: Plan, tableOf: TableOf, dialect: Dialect): Inner {
  const { shape, page, entity } = plan
  if (shape.kind !== 'rows') throw new Error('a subquery selects values')
  const way = readByAudience(plan, tableOf(entity).rows) === null ? 'scan' : 'collect'
  const selection = select(plan, tableOf, dialect, way, undefined)
  const { from, cells, order } = compileRows(shape, selection)
  const values = cells()
  const columns = values.map(({ sql }, at) => `${sql} AS c${at}`).join(', ')
  const isCut = page.limit !== null || page.offset > 0
  const window = isCut ? ` ${orderClause(order())}${dialect.window(page.limit, page.offset)}` : ''
  return {
    sql: `SELECT ${columns} ${from()}${window}`,
    cells: values.map((cell, at) => outside(cell, `i.c${at}`)),
  }
}
