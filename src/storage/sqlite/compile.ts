import type { Entity, TableSource } from '../../model/entities.ts'
import type { Plan } from '../../model/plan.ts'
import {
  builtInTable,
  compilePage,
  compileTotal,
  type Database,
  endOf,
  type Statement as StatementOf,
  type TableOf,
} from '../tables/compile.ts'
import type { ReadTable } from '../tables/dialect.ts'
import { type Highlighted, highlightsIn, isFiltered } from '../tables/plan-shape.ts'
import {
  counterColumn,
  isCollectingCheaper,
  readByAudience,
  type VisibleRows,
  type Way,
} from '../tables/row-visibility.ts'
import { sqliteDialect } from './dialect.ts'

export type Statement = StatementOf<number | string>

const database: Database<number | string> = { mark: '?', dialect: sqliteDialect }

/** The statements that read a page. */
export interface TablePlan {
  /** Counts the rows that the viewer sees, and all rows; null if neither is needed. */
  readonly counts: Statement | null
  readonly scan: Access
  /** The same page, if collecting and sorting all visible rows is cheaper; null: never. */
  readonly collect: Access | null
  /** The number of audiences that `scan` reads one after another; 0: it reads the table. */
  readonly audiences: number
  /** The position after the last row of the page; null: it has no limit. */
  readonly end: number | null
  /** True if there is a condition, so that the number of rows read is unknown. */
  readonly isFiltered: boolean
  /** Columns of the rows in which words are marked. */
  readonly highlights: readonly Highlighted[]
}

interface Access {
  /** Returns rows of one column: the record as JSON. */
  readonly page: Statement
  /** Counts the records or rows, ignoring limit and offset; null: `counts` says it, or it was not requested. */
  readonly total: Statement | null
}

/** Returns the rows of a table that the viewer sees. */
export type Visible = (source: TableSource) => VisibleRows

export function compileTable(plan: Plan, visible: Visible): TablePlan {
  const { entity, page } = plan
  const tableOf: TableOf = one => builtInTable(one, sourceOf(one), visible(sourceOf(one)))
  const table = tableOf(entity)
  const { rows } = table
  const isCounted = page.total || page.limit !== null
  const access = (way: Way): Access => ({
    page: compilePage(database, plan, tableOf, way),
    total: isFiltered(plan) && isCounted ? compileTotal(database, plan, tableOf, way) : null,
  })
  const way = readByAudience(plan, rows)
  const mayCollect = rows.kind === 'audiences' && way === null
  return {
    counts: mayCollect || (isCounted && !isFiltered(plan)) ? compileCounts(sourceOf(entity), table) : null,
    scan: access(way ?? 'scan'),
    collect: mayCollect ? access('collect') : null,
    audiences: rows.kind === 'audiences' && way !== null ? rows.ids.length : 0,
    end: endOf(page),
    isFiltered: isFiltered(plan),
    highlights: highlightsIn(plan),
  }
}

/** @throws if the entity is no table: plans of imported entities don't get here (docs/decisions/0037) */
function sourceOf({ source }: Entity): TableSource {
  if (source.kind !== 'table') throw new Error('a statement can only read tables')
  return source
}

function compileCounts({ table, rows: rule }: TableSource, { name, rows }: ReadTable): Statement {
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
  const from = `FROM ${name} AS t`
  if (rows.kind === 'all') return { sql: `SELECT count(*) AS seen, 0 AS "all" ${from}`, values: [] }
  return { sql: `SELECT count(*) AS seen, 0 AS "all" ${from} WHERE t.eperson = ?1`, values: [rows.eperson] }
}

/** Factor by which the table must exceed the visible rows before these are looked up one by one. */
const lookupCost = 4

/** @param visible and `total` are the result of `counts` @returns the statements, and about how many rows they read */
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
