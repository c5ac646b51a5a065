import { type Entity, type FieldType, type Page, type TableSource, totalOrder } from '../../model/entities.ts'
import type { Condition, FieldRef, Plan } from '../../model/plan.ts'
import { relatedIn, withFields } from '../../model/plan-fields.ts'
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

type RelatedValues = ReturnType<typeof relatedIn>

/** Puts columns of the table, with the same names, in place of fields of related records. */
function withColumns(plan: Plan): { readonly plan: Plan; readonly related: RelatedValues } {
  const related = relatedIn(plan)
  const own = ({ related: _, ...field }: FieldRef): FieldRef => field
  return { plan: related.size === 0 ? plan : withFields(plan, own), related }
}

/**
 * Adds columns with values of related records to a table: each is looked up by itself, or joined with the first record of
 * each key where an index doesn't help (docs/decisions/0078).
 */
function addColumns(
  entity: Entity,
  table: ReadTable,
  related: RelatedValues,
  tableOf: TableOf,
  dialect: Dialect,
): { readonly table: ReadTable; readonly cells: ReadonlyMap<string, Cell> } {
  const cells = new Map<string, Cell>()
  if (related.size === 0) return { table, cells }
  const columns: string[] = []
  const joins: string[] = []
  for (const [name, { fields, of }] of related) {
    const at = cells.size
    const outer = fields.map(field => {
      const whole = fieldCell(entity, field.name, `b.${quoteName(field.name)}`, table, dialect)
      if (field.path.length === 0) return whole
      return {
        ...whole,
        kind: 'json' as const,
        sql: dialect.member(whole.sql, field.path, sql => sql),
        nullable: true,
      }
    })
    const isGiven = 'rows' in of
    const inner = isGiven
      ? dialect.given(of.rows, [...outer.map(({ kind }) => kind), kindOf[of.value.type]])
      : compileInner(of, tableOf, dialect, 'scan')
    const pairs = outer.map((one, place) => {
      const other = outside(cellOf(inner, place), `i.c${place}`)
      const isJson = one.kind === 'json' || other.kind === 'json'
      return { one: dialect.comparable(one, isJson), other: dialect.comparable(other, isJson) }
    })
    const value = outside(cellOf(inner, fields.length), `i.c${fields.length}`)
    const from = `(${inner.sql}) AS i`
    const column = quoteName(`carrel:related:${at}`)
    if (isGiven || !outer.every(({ kind }) => dialect.looksUp(kind))) {
      const first = dialect.firstOf(
        pairs.map(({ other }) => other),
        value.sql,
        from,
      )
      const on = pairs.map(({ one }, place) => `r${at}.k${place} = ${one}`)
      joins.push(` LEFT JOIN (${first}) AS r${at} ON ${on.join(' AND ')}`)
      columns.push(`r${at}.v AS ${column}`)
    } else {
      const on = pairs.map(({ one, other }) => `${other} = ${one}`)
      columns.push(`(SELECT ${value.sql} FROM ${from} WHERE ${on.join(' AND ')} LIMIT 1) AS ${column}`)
    }
    cells.set(name, outside(value, `t.${column}`))
  }
  // Only the columns of fields may be read of a table that is exposed.
  const own = table.isExposed ? entity.fields.map(({ name }) => `b.${quoteName(name)}`).join(', ') : 'b.*'
  const name = `(SELECT ${own}, ${columns.join(', ')} FROM ${table.name} AS b${joins.join('')})`
  return { table: { ...table, name }, cells }
}

function cellOf({ cells }: Inner, place: number): Cell {
  const cell = cells[place]
  if (!cell) throw new Error('a related record has no such value')
  return cell
}

/** The kinds of values in rows that were read before. Integers of imported records have any number of digits. */
const kindOf: Readonly<Record<FieldType, Cell['kind']>> = {
  text: 'text',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  'date-time': 'time',
  json: 'json',
}

/** @param first as in `Reading` */
function select(
  plan: Plan,
  related: RelatedValues,
  tableOf: TableOf,
  dialect: Dialect,
  way: Way,
  first: number | null | undefined,
): Selection {
  const { entity, where } = plan
  const { table, cells } = addColumns(entity, tableOf(entity), related, tableOf, dialect)
  const key = columnOf([entity.key].flat().join())
  const { once, own, from } = dialect.read({ table, way, isFiltered: isFiltered(plan), key, first })
  const field = (name: string) => cells.get(name) ?? fieldCell(entity, name, columnOf(name), table, dialect)
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
  given: Plan,
  tableOf: TableOf,
  way: Way,
  { bind, values }: Binder<V> = createBinder<V>(database.mark),
): Statement<V> {
  const dialect = database.dialect(bind)
  const { plan, related } = withColumns(given)
  const { page, shape, entity } = plan
  const selection = select(plan, related, tableOf, dialect, way, endOf(page))
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
  given: Plan,
  tableOf: TableOf,
  way: Way,
  { bind, values }: Binder<V> = createBinder<V>(database.mark),
): Statement<V> {
  const dialect = database.dialect(bind)
  const { plan, related } = withColumns(given)
  const { page, shape } = plan
  const needed = page.total ? null : Math.min((endOf(page) ?? page.offset) + 1, Number.MAX_SAFE_INTEGER)
  const selection = select(plan, related, tableOf, dialect, way, needed)
  const from = (shape.kind === 'rows' ? compileRows(shape, selection) : selection).from()
  if (needed === null) return { sql: `SELECT count(*) AS count ${from}`, values }
  const most = dialect.bindNumber(needed)
  return { sql: `SELECT count(*) AS count FROM (SELECT 1 ${from} LIMIT ${most}) AS counted`, values }
}

/** The rows of a subquery, with values `c0`, `c1`, …, and its own visibility and hidden fields (Q11, Q19). */
function compileInner(given: Plan, tableOf: TableOf, dialect: Dialect, reads?: Way): Inner {
  const { plan, related } = withColumns(given)
  const { shape, page, entity } = plan
  if (shape.kind !== 'rows') throw new Error('a subquery selects values')
  const way = reads ?? (readByAudience(plan, tableOf(entity).rows) === null ? 'scan' : 'collect')
  const selection = select(plan, related, tableOf, dialect, way, undefined)
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
