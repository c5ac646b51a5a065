import { summaryFields } from '../../model/items.ts'

/** What stands in the place of a column of the table `items` for everybody but administrators (Q19). */
export type Mask =
  | { readonly kind: 'null' }
  | { readonly kind: 'empty list' }
  /** Metadata without these fields. They are made of characters that need no quoting in SQL or in a JSON path. */
  | { readonly kind: 'without'; readonly fields: readonly string[] }

/**
 * Engines use it wherever the column is read, sorted by or compared with, so that nothing depends on a hidden value.
 * @param hidden metadata fields
 * @returns undefined for a column that is shown as it is
 */
export function maskOf(column: string, hidden: readonly string[] | undefined): Mask | undefined {
  if (hidden === undefined || hidden.length === 0) return undefined
  if (column === 'metadata') return { kind: 'without', fields: hidden }
  const source = Object.entries(summaryFields).find(([name]) => name === column)?.[1]
  if (source === undefined || !hidden.includes(source)) return undefined
  return { kind: column === 'authors' ? 'empty list' : 'null' }
}
