import type { TableSource } from '../../model/entities.ts'
import type { Plan } from '../../model/plan.ts'
import type { Viewer } from '../../model/readers.ts'
import { isByKey, isFiltered, isOfRecords } from './plan-shape.ts'

/** Row visibility: which rows of a table a listing shows. */
export type VisibleRows =
  | { readonly kind: 'all' }
  /** The rows of these audiences, in the view `seen_<table>`; `hidden`: metadata fields not shown. */
  | { readonly kind: 'audiences'; readonly ids: readonly number[]; readonly hidden?: readonly string[] }
  /** The rows about this eperson, from the view `own_<table>`. */
  | { readonly kind: 'own'; readonly eperson: string }

/**
 * `scan`: the table in the order of the list, without the rows that aren't visible; `collect`: all visible
 * rows, audience by audience; `merge`: of each audience the first rows in the order of the list.
 */
export type Way = 'scan' | 'collect' | 'merge'

/** The prefix of the view that shows such rows. */
export const viewPrefixes = { all: '', audiences: 'seen_', own: 'own_' } as const satisfies Record<
  VisibleRows['kind'],
  string
>

/**
 * @param audiencesOf returns the audiences that admit a viewer
 * @param hidden metadata fields of items that only administrators see (Q19)
 */
export function visibleRows(
  { table, rows }: TableSource,
  viewer: Viewer,
  audiencesOf: (viewer: Viewer) => readonly number[],
  hidden: readonly string[],
): VisibleRows {
  if (rows === 'all' || viewer.kind === 'administrator') return { kind: 'all' }
  if (rows === 'audience')
    return { kind: 'audiences', ids: audiencesOf(viewer), ...(table === 'items' && { hidden }) }
  // An anonymous viewer has no rows of their own: no eperson has the uuid ''.
  return { kind: 'own', eperson: viewer.eperson ?? '' }
}

/**
 * True if it is cheaper to collect all visible rows and sort them than to scan the table in the order of the
 * list and skip invisible rows: the viewer sees only a small share of the rows (docs/decisions/0011).
 * @param visible number of rows that the viewer sees
 * @param total number of rows in the table
 * @param end the position after the last row of the page
 */
export const isCollectingCheaper = (visible: number, total: number, end: number): boolean =>
  visible * visible < total * end

/** Maximum number of audiences that are read one after another: each takes a search in an index. */
const maxAudiences = { everything: 16, filtered: 500 }

/** Maximum end of a page whose rows are merged, since each audience is read up to there. */
const maxMerged = 10_000

/**
 * Chooses how a page avoids rows that the viewer may not read (Q14, docs/decisions/0064). null: it can only
 * scan or collect them all, because there are too many audiences or no rows to skip.
 */
export function readByAudience(plan: Plan, rows: VisibleRows): Exclude<Way, 'scan'> | null {
  const { shape, page } = plan
  // One record is found by its key.
  if (rows.kind !== 'audiences' || isByKey(plan, 0)) return null
  const count = rows.ids.length
  if (count > maxAudiences[isFiltered(plan) ? 'filtered' : 'everything']) return null
  if (count === 1) return 'collect'
  if (isOfRecords(shape) && page.limit !== null && page.offset + page.limit <= maxMerged) return 'merge'
  return isFiltered(plan) ? 'collect' : null
}

/** The column of the table `audience` that counts the rows of this table. */
export const counterColumn = (table: string): 'items' | 'bitstreams' =>
  table === 'items' ? 'items' : 'bitstreams'
