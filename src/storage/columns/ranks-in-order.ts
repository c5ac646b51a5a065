/**
 * Counts records by rank.
 * @param starts receives, for each rank including null's, the number of records with a lower one; then that of all
 */
export function countRanks<T extends Uint32Array>(ranks: Uint32Array, starts: T): T {
  for (let n = 0; n < ranks.length; n++) {
    const next = (ranks[n] as number) + 1
    starts[next] = (starts[next] as number) + 1
  }
  return summedUp(starts)
}

/** Replaces each number by the sum of all up to it. */
export function summedUp<T extends Uint32Array>(starts: T): T {
  for (let rank = 1; rank < starts.length; rank++)
    starts[rank] = (starts[rank] as number) + (starts[rank - 1] as number)
  return starts
}

/** The ranks of all records, each time from the first one on, in parts that are valid until the next one. */
export type RankParts = () => Iterable<Uint32Array>

/** Ranks in a part. */
export const rankPart = 2 ** 18

/** Returns ranks that are in memory in parts. */
export const inParts = (ranks: Uint32Array): RankParts =>
  function* () {
    for (let from = 0; from < ranks.length; from += rankPart) yield ranks.subarray(from, from + rankPart)
  }

/** Takes record numbers by rank. */
interface Taker {
  /** @param starts of ranks in a row from `low` on: for each, the number of records with a lower one */
  starts(starts: Uint32Array, low: number): void
  /** @param numbers of the records from place `from` on */
  numbers(numbers: Uint32Array, from: number): void
}

/** Ranks that are counted at a time, and record numbers that are sorted at a time; each takes four bytes. */
const windowLength = 2 ** 20

/**
 * Sorts record numbers by rank, part by part. It passes over all ranks twice for each million of them.
 * @param end the highest rank, which is null's, plus one
 */
export function byRank(ranks: RankParts, end: number, taker: Taker, window: number = windowLength): void {
  let from = 0
  for (let low = 0; low < end; low += window) {
    const width = Math.min(window, end - low)
    const starts = new Uint32Array(width + 1)
    for (const part of ranks())
      for (let n = 0; n < part.length; n++) {
        const place = (part[n] as number) - low
        if (place >= 0 && place < width) starts[place + 1] = (starts[place + 1] as number) + 1
      }
    starts[0] = from
    from = summedUp(starts)[width] as number
    taker.starts(starts.subarray(0, width), low)
    for (let first = 0; first < width; ) {
      let next = first + 1
      while (next < width && (starts[next + 1] as number) - (starts[first] as number) <= window) next++
      if ((starts[next] as number) - (starts[first] as number) > window)
        numbersOf(ranks, low + first, starts[first] as number, taker, window)
      else sortedNumbers(ranks, low, starts, first, next, taker)
      first = next
    }
  }
}

/** Lists the records of a single rank. @param from the place of the first one */
function numbersOf(ranks: RankParts, rank: number, from: number, taker: Taker, window: number): void {
  const numbers = new Uint32Array(window)
  let filled = 0
  let place = from
  let base = 0
  for (const part of ranks()) {
    for (let n = 0; n < part.length; n++) {
      if (part[n] !== rank) continue
      numbers[filled++] = base + n
      if (filled < window) continue
      taker.numbers(numbers, place)
      place += filled
      filled = 0
    }
    base += part.length
  }
  taker.numbers(numbers.subarray(0, filled), place)
}

/** Sorts the records of the ranks from `low + first` to below `low + next`. */
function sortedNumbers(
  ranks: RankParts,
  low: number,
  starts: Uint32Array,
  first: number,
  next: number,
  taker: Taker,
): void {
  const from = starts[first] as number
  const numbers = new Uint32Array((starts[next] as number) - from)
  if (numbers.length === 0) return
  const places = starts.slice(first, next)
  const lowest = low + first
  let base = 0
  for (const part of ranks()) {
    for (let n = 0; n < part.length; n++) {
      const place = (part[n] as number) - lowest
      if (place < 0 || place >= places.length) continue
      const at = places[place] as number
      numbers[at - from] = base + n
      places[place] = at + 1
    }
    base += part.length
  }
  taker.numbers(numbers, from)
}
