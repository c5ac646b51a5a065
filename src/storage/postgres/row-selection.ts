import type { Plan } from '../../model/plan.ts'
import type { Binder } from '../tables/cells.ts'
import { readByAudience, type VisibleRows } from '../tables/row-visibility.ts'
import type { Value } from './driver.ts'

/** The rows of a table that a statement reads. */

export type Bind = Binder<Value>['bind']

/** The rows that are shown, with the way in which they are read and counted. */
export type RowSelection =
  | Exclude<VisibleRows, { kind: 'audiences' }>
  /** All rows of a table that the table `audience` counts. */
  | { readonly kind: 'counted'; readonly counter: string }
  | {
      readonly kind: 'audiences'
      readonly ids: readonly number[]
      readonly counter: string
      readonly hidden?: readonly string[]
      /** True: all visible rows are collected and sorted (`isCollectingCheaper`). */
      readonly collect: boolean
    }

/** Makes the condition for visible rows; '' if all of them are. */
export function visible(rows: RowSelection, bind: Bind, chooses: boolean): string {
  if (rows.kind === 'own') return `WHERE t.eperson = ${bind(rows.eperson)}`
  if (rows.kind !== 'audiences') return ''
  const [only, ...others] = rows.ids
  // Each index of what the viewer sees has the order of a list behind its audience.
  if (only !== undefined && others.length === 0) return isIn(only, bind)
  // No index matches the expression, so rows are read in the order of the list instead of audience by audience.
  const column = rows.collect || chooses ? 't.audience' : '(t.audience + 0)'
  return `WHERE ${column} = ANY(${bind(rows.ids)}::integer[])`
}

export const isIn = (audience: number, bind: Bind) => `WHERE t.audience = CAST(${bind(audience)} AS INTEGER)`

/** Maximum number of parts of a statement. */
const maxParts = 16

/**
 * The audiences of which each is a part of the statement, so that PostgreSQL knows how many rows it has: a variable would
 * stand for an average, and a list of them would let it read others' rows in the order of the page.
 */
export function audiencesApart(plan: Plan, rows: RowSelection): readonly number[] {
  if (rows.kind !== 'audiences' || readByAudience(plan, rows) === null) return []
  return rows.ids.length === 1 || rows.ids.length > maxParts ? [] : rows.ids
}
