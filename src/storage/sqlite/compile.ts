import type { Entity, Order, TableSource } from '../../model/entities.ts'
import type { Condition, FieldRef, Plan } from '../../model/plan.ts'
import { totalOrder } from '../plans/total-order.ts'
import { type Cell, createBinder, type Dialect, fieldNamed } from '../tables/cells.ts'
import { highlightsIn, isOfRecords } from '../tables/plan-shape.ts'
import { compileRows, rowAsJson } from '../tables/row-statement.ts'
import {
  counterColumn,
  isCollectingCheaper,
  readByAudience,
  type VisibleRows,
  viewPrefixes,
} from '../tables/row-visibility.ts'
import type { Highlighted } from '../tables/text-search.ts'
import { createDialect, fieldCell, literal, quoteName } from './cells.ts'
import { compileCondition } from './conditions.ts'
import { type Bind, visibleFrom, type Way } from './row-selection.ts'

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
  /** The number of audiences that `scan` reads one after another; 0: it reads the table. */
  readonly audiences: number
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
  const access = (way: Way): Access => ({
    page: compilePage(plan, visible, way),
    total: isFiltered && isCounted ? compileTotal(plan, visible, way) : null,
  })
  const way = readByAudience(plan, rows)
  const mayCollect = rows.kind === 'audiences' && way === null
  return {
    counts: mayCollect || (isCounted && !isFiltered) ? compileCounts(source, rows) : null,
    scan: access(way ?? 'scan'),
    collect: mayCollect ? access('collect') : null,
    audiences: rows.kind === 'audiences' && way !== null ? rows.ids.length : 0,
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

/** What a plan reads: the visible rows that fulfil the condition, and how its values are written. */
interface Selection {
  readonly entity: Entity
  readonly dialect: Dialect
  /** @param order of the page, of which only as many rows as it may need are read, if audiences are merged */
  readonly from: (order?: string) => string
  readonly condition: (condition: Condition, cell: (field: FieldRef) => Cell) => string
}

function select({ entity, where, page }: Plan, visible: Visible, way: Way, bind: Bind): Selection {
  const source = tableOf(entity)
  const rows = visible(source)
  const hidden = rows.kind === 'audiences' ? rows.hidden : undefined
  const field = (name: string) => fieldCell(entity, name, hidden)
  const inner = (plan: Plan) => compileInner(plan, visible, bind)
  const cell = ({ name }: FieldRef) => field(name)
  const { view, each, own, asked } = visibleFrom(source, rows, way, bind)
  const filter = where === null ? '' : ` AND (${compileCondition(where, { bind, cell, inner, own })})`
  return {
    entity,
    dialect: createDialect({ bind, field }),
    from: order => {
      if (way !== 'merge' || order === undefined) return `FROM ${each}${view} WHERE ${asked}${filter}`
      const key = `t.${quoteName([entity.key].flat().join())}`
      const first = `ORDER BY ${order} LIMIT ${bind(page.offset + (page.limit ?? 0))}`
      return `FROM ${each}${view} ON ${key} IN (SELECT ${key} FROM ${view} WHERE ${asked}${filter} ${first})`
    },
    condition: (one, cell) => compileCondition(one, { bind, cell, inner }),
  }
}

function compilePage(plan: Plan, visible: Visible, way: Way): Statement {
  const { bind, values } = createBinder<number | string>('?')
  const { page, shape, entity } = plan
  const selection = select(plan, visible, way, bind)
  // SQLite accepts OFFSET only after LIMIT; -1 means no limit (https://sqlite.org/lang_select.html#limitoffset).
  const limits = () => `LIMIT ${bind(page.limit ?? -1)} OFFSET ${bind(page.offset)}`
  if (shape.kind === 'records') {
    const { from, dialect } = selection
    const cells = entity.fields.map(({ name, type }) => dialect.scalar(fieldNamed(name, type)))
    const members = entity.fields.map(({ name }, at) => `${literal(name)}, ${memberJson(cells[at])}`)
    const order = recordOrder(entity, page.order, dialect)
    return {
      sql: `SELECT json_object(${members.join(', ')}) AS json ${from(order)} ORDER BY ${order} ${limits()}`,
      values,
    }
  }
  const { from, cells, order } = compileRows(shape, selection)
  const json = rowAsJson(shape, cells(), selection.dialect)
  const sorted = order()
  const read = isOfRecords(shape) ? selection.from(sorted) : from()
  return { sql: `SELECT ${json} AS json ${read} ${orderClause(sorted)}${limits()}`, values }
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
function compileTotal(plan: Plan, visible: Visible, way: Way): Statement {
  const { bind, values } = createBinder<number | string>('?')
  const { page, shape } = plan
  const selection = select(plan, visible, way, bind)
  const from = (shape.kind === 'rows' ? compileRows(shape, selection) : selection).from()
  if (page.total) return { sql: `SELECT count(*) AS count ${from}`, values }
  const most = bind(page.offset + (page.limit ?? 0) + 1)
  return { sql: `SELECT count(*) AS count FROM (SELECT 1 ${from} LIMIT ${most})`, values }
}

/** The rows of a subquery, each with values `c0`, `c1`, …: with its own visibility and hidden fields (Q11, Q19). */
function compileInner(plan: Plan, visible: Visible, bind: Bind) {
  const { shape, page } = plan
  if (shape.kind !== 'rows') throw new Error('a subquery selects values')
  const rows = visible(tableOf(plan.entity))
  const selection = select(plan, visible, readByAudience(plan, rows) === null ? 'scan' : 'collect', bind)
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
export function choosePage(plan: TablePlan, visible: number, total: number) {
  const { scan, collect, end, isFiltered, audiences } = plan
  if (audiences > 0) {
    const reads = Math.min(visible, audiences * (end ?? Number.POSITIVE_INFINITY))
    return { access: scan, reads }
  }
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
