import { lastUpTo } from './edits.ts'
import type { Numbers } from './stored-field.ts'

/**
 * A set of ranks: ascending ranges that don't touch, each by its first rank and its end. Equal values have
 * equal ranks, so any condition on a value is answered by such a set (docs/decisions/0035).
 */
export type RankSet = Uint32Array

export const noRanks: RankSet = new Uint32Array()

/** The ranks from `from` to below `end`. */
export const rankRange = (from: number, end: number): RankSet =>
  from < end ? Uint32Array.of(from, end) : noRanks

/** @param ranks ascending */
export function ranksOf(ranks: ArrayLike<number>): RankSet {
  const ranges = new Uint32Array(2 * ranks.length)
  let size = 0
  for (let at = 0; at < ranks.length; at++) {
    const rank = ranks[at] as number
    if (size === 0 || (ranges[size - 1] as number) < rank) ranges[size++] = rank
    else size--
    ranges[size++] = rank + 1
  }
  return ranges.slice(0, size)
}

/** @param table 1 for each rank of the set, otherwise 0 */
export function ranksIn(table: Uint8Array): RankSet {
  let size = 0
  for (let rank = 0, before = 0; rank < table.length; rank++) {
    const now = table[rank] as number
    size += now ^ before
    before = now
  }
  const ranges = new Uint32Array(size + (size & 1))
  let at = 0
  for (let rank = 0, before = 0; rank < table.length; rank++) {
    const now = table[rank] as number
    if (now !== before) ranges[at++] = rank
    before = now
  }
  // The last range may go to the end.
  if (at < ranges.length) ranges[at] = table.length
  return ranges
}

/** The ranks below `distinct` that are not in the set. */
export function complement(set: RankSet, distinct: number): RankSet {
  const ranges = new Uint32Array(set.length + 2)
  let size = 0
  let from = 0
  for (let at = 0; at < set.length; at += 2) {
    if (from < (set[at] as number)) {
      ranges[size++] = from
      ranges[size++] = set[at] as number
    }
    from = set[at + 1] as number
  }
  if (from < distinct) {
    ranges[size++] = from
    ranges[size++] = distinct
  }
  return ranges.slice(0, size)
}

/** Counts the records with a rank of the set. @param starts of the column */
export function sizeOf(set: RankSet, starts: Numbers): number {
  let size = 0
  for (let at = 0; at < set.length; at += 2) {
    const from = starts.at(set[at] as number)
    size += starts.at(set[at + 1] as number) - from
  }
  return size
}

/** True if the set has the rank, which is then at or after the beginning of a range, and before its end. */
export const hasRank = (set: RankSet, rank: number): boolean => (lastUpTo(set, rank) & 1) === 0

/** For each rank, 1 if the set has it. @param length one more than the highest rank */
export function tableOf(set: RankSet, length: number): Uint8Array {
  const table = new Uint8Array(length)
  for (let at = 0; at < set.length; at += 2) {
    const from = set[at] as number
    const end = set[at + 1] as number
    // Most ranges are so short that a call would take longer.
    if (end - from > 64) table.fill(1, from, end)
    else for (let rank = from; rank < end; rank++) table[rank] = 1
  }
  return table
}

/** For each rank, a bit that is set if the set has it. @param length one more than the highest rank */
export function bitsIn(set: RankSet, length: number): Uint32Array {
  const words = new Uint32Array((length + 31) >>> 5)
  for (let at = 0; at < set.length; at += 2) {
    const end = set[at + 1] as number
    let rank = set[at] as number
    while (rank < end) {
      const word = rank >>> 5
      if ((rank & 31) === 0 && end - rank >= 32) {
        words.fill(0xffff_ffff, word, end >>> 5)
        rank = end & ~31
      } else words[word] = (words[word] as number) | (1 << (rank++ & 31))
    }
  }
  return words
}
