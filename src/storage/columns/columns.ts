import { sharedNumbers } from '../../lib/shared-memory.ts'

/**
 * A field of a version as numbers (docs/decisions/0035), in memory that threads share. A column has a rank for each record,
 * by its number: the place of its value among the distinct ones. Records without a value have the rank `distinct`.
 */
export interface Column {
  readonly distinct: number
  readonly ranks: Uint32Array
  /** For each rank, null's included, how many records have a lower one; then how many records there are. */
  readonly starts: Uint32Array
}

/** A column as it is kept: the number of distinct values, then the ranks and the starts. */
export type PackedColumn = Uint32Array<SharedArrayBuffer>

/** @param ranks of all records; those that have no value have the highest, where `nullable` says that there are any */
export function packColumn(ranks: Uint32Array, nullable: boolean): PackedColumn {
  let highest = -1
  for (let n = 0; n < ranks.length; n++) if ((ranks[n] as number) > highest) highest = ranks[n] as number
  return packRanks(ranks, nullable ? Math.max(highest, 0) : highest + 1)
}

/** The same where it is known how many distinct values there are. */
export function packRanks(ranks: Uint32Array, distinct: number): PackedColumn {
  const count = ranks.length
  const packed = sharedNumbers(1 + count + distinct + 2)
  packed[0] = distinct
  packed.set(ranks, 1)
  const { starts } = openColumn(packed, count)
  for (let n = 0; n < count; n++) {
    const next = (ranks[n] as number) + 1
    starts[next] = (starts[next] as number) + 1
  }
  for (let rank = 1; rank < starts.length; rank++)
    starts[rank] = (starts[rank] as number) + (starts[rank - 1] as number)
  return packed
}

export const openColumn = (packed: PackedColumn, count: number): Column => ({
  distinct: packed[0] as number,
  ranks: packed.subarray(1, 1 + count),
  starts: packed.subarray(1 + count),
})

/** The numbers of all records by rank, then by number: those of one rank are `starts[rank]` to `starts[rank + 1]`. */
export function postingsOf({ ranks, starts }: Column): Uint32Array<SharedArrayBuffer> {
  const next = starts.slice()
  const numbers = sharedNumbers(ranks.length)
  for (let n = 0; n < ranks.length; n++) {
    const rank = ranks[n] as number
    numbers[next[rank] as number] = n
    next[rank] = (next[rank] as number) + 1
  }
  return numbers
}

/** The number of the first record with each rank but null's. */
export function firstNumbers({ distinct, ranks }: Column): Uint32Array<SharedArrayBuffer> {
  const first = sharedNumbers(distinct + 1)
  for (let n = ranks.length - 1; n >= 0; n--) first[ranks[n] as number] = n
  return first.subarray(0, distinct)
}
