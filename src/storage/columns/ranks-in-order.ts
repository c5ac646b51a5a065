/**
 * Counts records by rank.
 * @param starts receives, for each rank including null's, the number of records with a lower one; then that of all
 */
export function countRanks<T extends Uint32Array>(ranks: Uint32Array, starts: T): T {
  for (let n = 0; n < ranks.length; n++) {
    const next = (ranks[n] as number) + 1
    starts[next] = (starts[next] as number) + 1
  }
  for (let rank = 1; rank < starts.length; rank++)
    starts[rank] = (starts[rank] as number) + (starts[rank - 1] as number)
  return starts
}

/** Record numbers that are sorted by rank at a time, unless one rank has more. */
const partLength = 2 ** 21

/**
 * Sorts record numbers by rank, part by part.
 * @param starts where the records of each rank start; overwritten
 */
export function* byRank(ranks: Uint32Array, starts: Uint32Array) {
  const count = ranks.length
  for (let low = 0; low < starts.length - 1; ) {
    const from = starts[low] as number
    let high = low + 1
    while (high < starts.length - 1 && (starts[high + 1] as number) - from <= partLength) high++
    const numbers = new Uint32Array((starts[high] as number) - from)
    if (numbers.length > 0)
      for (let n = 0; n < count; n++) {
        const rank = ranks[n] as number
        if (rank < low || rank >= high) continue
        const at = starts[rank] as number
        numbers[at - from] = n
        starts[rank] = at + 1
      }
    yield { from, numbers }
    low = high
  }
}
