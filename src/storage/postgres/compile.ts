import type { Plan } from '../../model/plan.ts'
import { type Bind, createBinder } from '../tables/cells.ts'
import { compilePage, compileTotal, type Database, type Statement, type TableOf } from '../tables/compile.ts'
import { isFiltered } from '../tables/plan-shape.ts'
import { counterColumn, type VisibleRows, type Way } from '../tables/row-visibility.ts'
import { postgresDialect } from './dialect.ts'
import type { Value } from './driver.ts'

const database: Database<Value> = { mark: '$', dialect: postgresDialect }

/** The tables that a plan reads, and the way in which the outermost one is read. */
export interface Tables {
  readonly tableOf: TableOf
  readonly way: Way
}

export const pageOf = (
  plan: Plan,
  { tableOf, way }: Tables,
  binder = createBinder<Value>('$'),
): Statement<Value> => compilePage(database, plan, tableOf, way, binder)

/**
 * @param binder of the statement that this one is a part of
 * @returns undefined if no count was requested
 */
export function countOf(
  plan: Plan,
  { tableOf, way }: Tables,
  binder = createBinder<Value>('$'),
): Statement<Value> | undefined {
  const { page, entity } = plan
  const { source } = entity
  if (!page.total && page.limit === null) return undefined
  if (isFiltered(plan) || source.kind !== 'table' || source.rows !== 'audience')
    return compileTotal(database, plan, tableOf, way, binder)
  const sql = countAudiences(tableOf(entity).rows, counterColumn(source.table), binder.bind)
  return { sql, values: binder.values }
}

const countAudiences = (rows: VisibleRows, counter: string, bind: Bind<Value>) =>
  `SELECT coalesce(CAST(sum(${counter}) AS BIGINT), 0) AS count FROM audience${
    rows.kind === 'audiences' ? ` WHERE id = ANY(${bind(rows.ids)}::integer[])` : ''
  }`

/** Returns one row: `body`, the page's records joined by the separator, and `count` as in `countOf`. */
export function shortPageOf(plan: Plan, tables: Tables, separator: string): Statement<Value> {
  const binder = createBinder<Value>('$')
  const records = pageOf(plan, tables, binder)
  const joiner = binder.bind(separator)
  const count = countOf(plan, tables, binder)
  return {
    sql: `SELECT ${count ? `(${count.sql})` : 'NULL'} AS count, (SELECT string_agg(json, ${joiner}) FROM (${records.sql}) page) AS body`,
    values: binder.values,
  }
}
