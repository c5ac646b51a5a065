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

/** Maximum bytes and files in one transaction, so that a killed run has little to copy again, and memory is bounded. */
const maxBytes = 64 * 1024 * 1024
const maxFiles = 1_000

/** Divides items into batches, each of which is one transaction. */
export function* inBatches<T extends { item: FoundItem }>(list: readonly T[]): Iterable<T[]> {
  let part: T[] = []
  let bytes = 0
  let files = 0
  for (const one of list) {
    part.push(one)
    bytes += one.item.files.reduce((sum, { size }) => sum + size, 0)
    files += one.item.files.length
    if (bytes < maxBytes && files < maxFiles) continue
    yield part
    part = []
    bytes = 0
    files = 0
  }
  if (part.length > 0) yield part
}
