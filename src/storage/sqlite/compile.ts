import type { Entity, Order, TableSource } from '../../model/entities.ts'
import type { Condition, FieldRef, Plan } from '../../model/plan.ts'
import { type Cell, createBinder, type Dialect, fieldNamed } from '../shared/cells.ts'
import { highlightsIn } from '../shared/plan-shape.ts'
import { compileRows, rowAsJson } from '../shared/row-statement.ts'
import {
  counterColumn,
  isCollectingCheaper,
  type VisibleRows,
  viewPrefixes,
} from '../shared/row-visibility.ts'
import type { Highlighted } from '../shared/text-search.ts'
import { totalOrder } from '../shared/total-order.ts'
import { createDialect, fieldCell, literal, quoteName } from './cells.ts'
import { compileCondition } from './conditions.ts'
import { tick } from './driver.ts'

/** SQL for entities that are tables. Pure: names come from the entity's own fields, and values are bound. */
export interface Statement {
  readonly sql: string
  readonly values: readonly (number | string)[]
}

/** The statements that read a page. */
export interface TablePlan {
  /** Counts the rows that the viewer sees, and all rows; null if neither is needed. */
  readonly counts: Statement | null
  /** How the page is read. */
  readonly scan: Access
  /** The same page, if collecting and sorting all visible rows is cheaper; null: never. */
  readonly collect: Access | null
  /** The position after the last row of the page; null: it has no limit. */
  readonly end: number | null
  /** Whether there is a condition, so that nobody knows how many rows are read. */
  readonly isFiltered: boolean
  /** Columns of the rows in which words are marked. */
  readonly highlights: readonly Highlighted[]
}

export interface Access {
  /** Returns rows of one column: the record as JSON. */
  readonly page: Statement
  /** Counts the records or rows, ignoring limit and offset; null: `counts` says it, or nobody asks. */
  readonly total: Statement | null
}

/** @returns which rows of a table the viewer sees */
export type Visible = (source: TableSource) => VisibleRows

export function compileTable(plan: Plan, visible: Visible): TablePlan {
  const { entity, where, shape, page } = plan
  const source = tableOf(entity)
  const rows = visible(source)
  const isFiltered = where !== null || shape.kind === 'rows'
  const isCounted = page.total || page.limit !== null
  const access = (collects: boolean): Access => ({
    page: compilePage(plan, visible, collects),
    total: isFiltered && isCounted ? compileTotal(plan, visible, collects) : null,
  })
  const mayCollect = rows.kind === 'audiences'
  return {
    counts: mayCollect || (isCounted && !isFiltered) ? compileCounts(source, rows) : null,
    scan: access(false),
    collect: mayCollect ? access(true) : null,
    end: page.limit === null ? null : page.offset + page.limit,
    isFiltered,
    highlights: highlightsIn(plan),
  }
}

/** @throws if its rows are elsewhere: plans of imported entities are read before (docs/decisions/0037) */
function tableOf({ source }: Entity): TableSource {
  if (source.kind !== 'table') throw new Error('a statement can only read tables')
  return source
}

function compileCounts({ table, rows: rule }: TableSource, rows: VisibleRows): Statement {
  const counter = counterColumn(table)
  if (rows.kind === 'audiences') {
    const wanted = 'SELECT value FROM json_each(?1)'
    return {
      sql: `SELECT (SELECT sum(${counter}) FROM audience WHERE id IN (${wanted})) AS seen, (SELECT sum(${counter}) FROM audience) AS "all"`,
      values: [`[${rows.ids.join()}]`],
    }
  }
  if (rule === 'audience')
    return { sql: `SELECT sum(${counter}) AS seen, 0 AS "all" FROM audience`, values: [] }
  const from = `FROM ${quoteName(`${viewPrefixes[rows.kind]}${table}`)} AS t`
  if (rows.kind === 'all') return { sql: `SELECT count(*) AS seen, 0 AS "all" ${from}`, values: [] }
  return { sql: `SELECT count(*) AS seen, 0 AS "all" ${from} WHERE t.eperson = ?1`, values: [rows.eperson] }
}

type Bind = (value: number | string) => string

/** What a plan reads: the visible rows that fulfil the condition, and how its values are written. */
interface Selection {
  readonly entity: Entity
  readonly dialect: Dialect
  readonly from: () => string
  readonly condition: (condition: Condition, cell: (field: FieldRef) => Cell) => string
}

function select({ entity, where }: Plan, visible: Visible, collects: boolean, bind: Bind): Selection {
  const source = tableOf(entity)
  const rows = visible(source)
  const hidden = rows.kind === 'audiences' ? rows.hidden : undefined
  const field = (name: string) => fieldCell(entity, name, hidden)
  const condition: Selection['condition'] = (one, cell) =>
    compileCondition(one, { bind, cell, inner: inner => compileInner(inner, visible, bind) })
  const seen = visibleFrom(source, rows, collects, bind)
  const filter = where === null ? '' : ` AND (${condition(where, ({ name }) => field(name))})`
  const from = `${seen}${filter}`
  return {
    entity,
    dialect: createDialect({ bind, field }),
    from: () => from,
    condition,
  }
}

/**
 * `tick` comes first, because SQLite doesn't ask the rest once a term is false.
 * @param collects whether to read one audience after another, through the index
 */
function visibleFrom({ table }: TableSource, rows: VisibleRows, collects: boolean, bind: Bind): string {
  const view = `${quoteName(`${viewPrefixes[rows.kind]}${table}`)} AS t`
  if (rows.kind === 'all') return `FROM ${view} WHERE ${tick}`
  if (rows.kind === 'own') return `FROM ${view} WHERE ${tick} AND t.eperson = ${bind(rows.eperson)}`
  const wanted = `json_each(${bind(`[${rows.ids.join()}]`)})`
  // CROSS JOIN keeps the order of the loops. The last term keeps `tick` in the inner one.
  if (collects)
    return `FROM (SELECT value AS seen FROM ${wanted}) CROSS JOIN ${view} ON t.audience = seen WHERE (${tick} OR t.audience IS NULL)`
  // + keeps SQLite from using the index by audience, which would need a sort (https://sqlite.org/optoverview.html#uplus).
  return `FROM ${view} WHERE ${tick} AND +t.audience IN (SELECT value FROM ${wanted})`
}

function compilePage(plan: Plan, visible: Visible, collects: boolean): Statement {
  const { bind, values } = createBinder<number | string>('?')
  const { page, shape, entity } = plan
  const selection = select(plan, visible, collects, bind)
  // SQLite accepts OFFSET only after LIMIT; -1 means no limit (https://sqlite.org/lang_select.html#limitoffset).
  const limits = () => `LIMIT ${bind(page.limit ?? -1)} OFFSET ${bind(page.offset)}`
  if (shape.kind === 'records') {
    const { from, dialect } = selection
    const cells = entity.fields.map(({ name, type }) => dialect.scalar(fieldNamed(name, type)))
    const members = entity.fields.map(({ name }, at) => `${literal(name)}, ${memberJson(cells[at])}`)
    const order = recordOrder(entity, page.order, dialect)
    return {
      sql: `SELECT json_object(${members.join(', ')}) AS json ${from()} ORDER BY ${order} ${limits()}`,
      values,
    }
  }
  const { from, cells, order } = compileRows(shape, selection)
  const json = rowAsJson(shape, cells(), selection.dialect)
  return { sql: `SELECT ${json} AS json ${from()} ${orderClause(order())}${limits()}`, values }
}

const orderClause = (order: string) => (order === '' ? '' : `ORDER BY ${order} `)

const recordOrder = (entity: Entity, order: readonly Order[], dialect: Dialect) =>
  totalOrder(entity, order)
    .map(({ field, descending }) => dialect.sort(dialect.scalar(fieldNamed(field, 'text')), descending))
    .join(', ')

/** A field of a whole record. */
function memberJson(cell: Cell | undefined): string {
  if (cell?.kind === 'boolean') return `json(iif(${cell.sql}, 'true', 'false'))`
  return cell?.kind === 'json' ? `json(${cell.sql})` : (cell?.sql ?? 'NULL')
}

/** Counts all, or, if nobody asked, only far enough to tell whether more follow the page. */
function compileTotal(plan: Plan, visible: Visible, collects: boolean): Statement {
  const { bind, values } = createBinder<number | string>('?')
  const { page, shape } = plan
  const selection = select(plan, visible, collects, bind)
  const from = (shape.kind === 'rows' ? compileRows(shape, selection) : selection).from()
  if (page.total) return { sql: `SELECT count(*) AS count ${from}`, values }
  const most = bind(page.offset + (page.limit ?? 0) + 1)
  return { sql: `SELECT count(*) AS count FROM (SELECT 1 ${from} LIMIT ${most})`, values }
}

/** The rows of a subquery, each with values `c0`, `c1`, …: with its own visibility and hidden fields (Q11, Q19). */
function compileInner(plan: Plan, visible: Visible, bind: Bind) {
  const { shape, page } = plan
  if (shape.kind !== 'rows') throw new Error('a subquery selects values')
  const selection = select(plan, visible, false, bind)
  const { from, cells, order } = compileRows(shape, selection)
  const values = cells()
  const columns = values.map(({ sql }, at) => `${sql} AS c${at}`).join(', ')
  const isCut = page.limit !== null || page.offset > 0
  const window = isCut
    ? ` ${orderClause(order())}LIMIT ${bind(page.limit ?? -1)} OFFSET ${bind(page.offset)}`
    : ''
  return {
    sql: `SELECT ${columns} ${from()}${window}`,
    cells: values.map(({ sort: _, ...cell }, at) => ({ ...cell, sql: `i.c${at}` })),
  }
}

/** How much larger the table has to be than what the viewer sees of it, for looking that up row by row. */
const lookupCost = 4

/** @param visible and @param total the result of `counts` @returns the statements, and about how many rows they read */
export function choosePage({ scan, collect, end, isFiltered }: TablePlan, visible: number, total: number) {
  if (isFiltered) {
    const access = collect !== null && visible * lookupCost < total ? collect : scan
    return { access, reads: access === scan ? 0 : visible }
  }
  // Unless all rows were counted, every row that it reads is visible.
  if (total === 0) return { access: scan, reads: end ?? Number.POSITIVE_INFINITY }
  const last = Math.min(end ?? total, total)
  if (collect !== null && isCollectingCheaper(visible, total, last))
    return { access: collect, reads: visible }
  return { access: scan, reads: last >= visible ? total : (last * total) / visible }
}
