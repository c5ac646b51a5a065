/**
 * A set of ranks: ascending ranges that don't touch, each by its first rank and its end. Equal values have equal ranks, so
 * whatever a condition asks of a value, its answer is such a set (docs/decisions/0035).
 */
export type RankSet = Uint32Array

export const noRanks: RankSet = new Uint32Array()

/** The ranks from `from` to below `end`. */
export const rankRange = (from: number, end: number): RankSet =>
  from < end ? Uint32Array.of(from, end) : noRanks

/** @param ranks ascending */
export function ranksOf(ranks: Iterable<number>): RankSet {
  const ranges: number[] = []
  for (const rank of ranks) {
    if (ranges.length > 0 && (ranges.at(-1) as number) >= rank) ranges[ranges.length - 1] = rank + 1
    else ranges.push(rank, rank + 1)
  }
  return Uint32Array.from(ranges)
}

/** The ranks below `distinct` that are not in the set. */
export function complement(set: RankSet, distinct: number): RankSet {
  const ranges: number[] = []
  let from = 0
  for (let at = 0; at < set.length; at += 2) {
    if (from < (set[at] as number)) ranges.push(from, set[at] as number)
    from = set[at + 1] as number
  }
  if (from < distinct) ranges.push(from, distinct)
  return Uint32Array.from(ranges)
}

/** How many records have a rank of the set. @param starts how many have a lower rank, for each rank */
export function sizeOf(set: RankSet, starts: Uint32Array): number {
  let size = 0
  for (let at = 0; at < set.length; at += 2)
    size += (starts[set[at + 1] as number] as number) - (starts[set[at] as number] as number)
  return size
}

/** Whether the set has the rank, by halving. */
export function hasRank(set: RankSet, rank: number): boolean {
  let low = 0
  let high = set.length >>> 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((set[2 * middle + 1] as number) <= rank) low = middle + 1
    else high = middle
  }
  return low < set.length >>> 1 && (set[2 * low] as number) <= rank
}

/** For each rank, 1 if the set has it. @param length one more than the highest rank */
export function tableOf(set: RankSet, length: number): Uint8Array {
  const table = new Uint8Array(length)
  for (let at = 0; at < set.length; at += 2) table.fill(1, set[at], set[at + 1])
  return table
}
