import { openColumn, type PackedColumn, packRanks, sharedNumbers } from './columns.ts'
import { type NewValue, type Origins, revisedRanks } from './revised-ranks.ts'

/** What single records change in a version, in the order of the key (docs/decisions/0041). */
export interface Edit {
  /** The number of the record, or before which one it would be. */
  readonly at: number
  readonly isThere: boolean
  /** The number of the record that is there instead, among those that are written; -1: none. */
  readonly written: number
}

/** @param count of the records before */
function originsOf(count: number, edits: readonly Edit[]): Origins {
  const origins = new Int32Array(count + edits.length)
  let length = 0
  let next = 0
  const keepUntil = (end: number) => {
    for (; next < end; next++) origins[length++] = next
  }
  for (const { at, isThere, written } of edits) {
    keepUntil(at)
    if (isThere) next++
    if (written >= 0) origins[length++] = ~written
  }
  keepUntil(count)
  return origins.subarray(0, length)
}

/** @param values of the records that are written */
export function revisedColumn(
  column: PackedColumn,
  count: number,
  edits: readonly Edit[],
  values: readonly NewValue[],
): PackedColumn {
  const { ranks, distinct } = revisedRanks(
    openColumn(column, count),
    originsOf(count, edits),
    values,
    byCharacter,
  )
  return packRanks(ranks, distinct)
}

/** Keys of values are the places in their order, which the thread doesn't know. */
const byCharacter = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

/** @param slots of the records before; null: their numbers @param written the slots of the records that are written */
export function revisedSlots(
  slots: Uint32Array | null,
  count: number,
  edits: readonly Edit[],
  written: readonly number[],
): Uint32Array<SharedArrayBuffer> {
  const origins = originsOf(count, edits)
  const found = sharedNumbers(origins.length)
  for (let n = 0; n < origins.length; n++) {
    const origin = origins[n] as number
    found[n] = origin < 0 ? (written[~origin] as number) : slots ? (slots[origin] as number) : origin
  }
  return found
}
