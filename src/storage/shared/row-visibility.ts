import type { TableSource } from '../../model/entities.ts'
import type { Viewer } from '../../model/readers.ts'

/** Which rows of a table a listing shows. */
export type VisibleRows =
  | { readonly kind: 'all' }
  /** Those of these audiences, from the view `seen_<table>`. */
  | { readonly kind: 'audiences'; readonly ids: readonly number[] }
  /** Those about this eperson, from the view `own_<table>`. */
  | { readonly kind: 'own'; readonly eperson: string }

/** What the name of the view begins with that shows such rows. */
export const viewPrefixes = { all: '', audiences: 'seen_', own: 'own_' } as const satisfies Record<
  VisibleRows['kind'],
  string
>

/** @param audiencesOf the audiences that admit the viewer */
export function visibleRows(
  { rows }: TableSource,
  viewer: Viewer,
  audiencesOf: (viewer: Viewer) => readonly number[],
): VisibleRows {
  if (rows === 'all' || viewer.kind === 'administrator') return { kind: 'all' }
  if (rows === 'audience') return { kind: 'audiences', ids: audiencesOf(viewer) }
  // Who is nobody has nothing; no eperson has this uuid.
  return { kind: 'own', eperson: viewer.eperson ?? '' }
}

/**
 * Whether to gather all rows of the audiences and sort them, instead of passing over the rows of others in the order of
 * the list: worth it where the viewer sees next to nothing of many (docs/decisions/0011).
 * @param seen rows that the viewer sees @param all rows that there are @param end of the page, counted from the first
 */
export const gatherFirst = (seen: number, all: number, end: number): boolean => seen * seen < all * end

/** Of entities whose rows have audiences, the column of the table of audiences that counts them. */
export const counterOf = (table: string): 'items' | 'bitstreams' =>
  table === 'items' ? 'items' : 'bitstreams'
