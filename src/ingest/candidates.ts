import type { FoundItem } from './item.ts'
import type { KnownGroups } from './readers.ts'

/** What a source gives, one after the other: an item, or why there is none. */
export type Candidate =
  | { readonly kind: 'item'; readonly where: string; readonly item: FoundItem }
  | { readonly kind: 'bad'; readonly where: string; readonly reason: string }

export interface SourceOptions {
  readonly groups: KnownGroups
}

/** Items some at a time, so that a million need no more memory than a hundred. */
export type Candidates = AsyncIterable<{
  readonly candidates: readonly Candidate[]
  /** Of the source, 0 to 1, that is read with these. */
  readonly share: number
}>

/** Of one batch, everything is under way at once; it is one transaction. */
export const itemsAtOnce = 50
