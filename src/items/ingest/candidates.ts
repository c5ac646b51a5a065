import type { FoundItem } from './item.ts'
import type { Naming } from './origin.ts'
import type { KnownGroups } from './readers.ts'

/** An item of a source, or the reason why the item is bad. */
export type Candidate =
  | { readonly kind: 'item'; readonly where: string; readonly item: FoundItem }
  | { readonly kind: 'bad'; readonly where: string; readonly reason: string }

export interface SourceOptions {
  readonly naming: Naming
  readonly groups: KnownGroups
}

/** Items in batches, so that a million items take no more memory than a hundred. */
export type Candidates = AsyncIterable<{
  readonly candidates: readonly Candidate[]
  /** The share of the source that has been read, 0 to 1. */
  readonly share: number
}>

/** Number of items in a batch, which is processed concurrently and committed in one transaction. */
export const itemsAtOnce = 50
