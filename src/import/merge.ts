import { readAt } from '../lib/files-at.ts'
import { release } from '../lib/memory.ts'
import { markedNumber, markedText } from '../lib/sort-keys.ts'
import { type Run, runKinds } from './batches.ts'
import { placeOf } from './column.ts'

/** The ranks of the values of several runs. */
export interface Ranked {
  /** The ranks of the codes of all runs, one run after the other. */
  readonly ranks: Uint32Array
  /** The index at which the ranks of each run begin. */
  readonly starts: readonly number[]
  /** Number of distinct values. */
  readonly distinct: number
}

/** Takes the distinct values of a field, in order. */
export interface Taker {
  /** @param key of a value @param isMarked true if it has the mark of its kind (sort-keys.ts) */
  key(key: string, isMarked: boolean): void
  /** @param sorted all values, if all are numbers */
  numbers(sorted: Float64Array): void
}

/** Merges the runs of a field. */
export function mergeRuns(runs: readonly Run[], taker: Taker | undefined): Ranked {
  let total = 0
  const starts = runs.map(({ size }) => {
    total += size
    return total - size
  })
  const ranks = new Uint32Array(total)
  const isNumbers = runs.every(({ kind }) => kind === runKinds.numbers)
  const distinct = isNumbers
    ? mergeNumbers(runs, starts, ranks, taker)
    : mergeTexts(runs, starts, ranks, taker)
  return { ranks, starts, distinct }
}

/** Merges runs of numbers. All numbers fit into memory, and sorting them together is fastest. */
function mergeNumbers(
  runs: readonly Run[],
  starts: readonly number[],
  ranks: Uint32Array,
  taker: Taker | undefined,
): number {
  const all = new Float64Array(ranks.length)
  for (const [at, { descriptor, values, size }] of runs.entries())
    readAt(descriptor, all.subarray(starts[at], (starts[at] as number) + size), values)
  all.sort()
  let distinct = 0
  for (let at = 0; at < all.length; at++)
    if (at === 0 || all[at] !== all[distinct - 1]) all[distinct++] = all[at] as number
  const sorted = all.subarray(0, distinct)
  for (const [at, { descriptor, values, size }] of runs.entries()) {
    const run = new Float64Array(size)
    readAt(descriptor, run, values)
    const start = starts[at] as number
    let rank = 0
    for (let entry = 0; entry < size; entry++) {
      rank = placeOf(sorted, run[entry] as number, rank)
      ranks[start + entry] = rank
    }
  }
  taker?.numbers(sorted)
  release(all)
  return distinct
}

/**
 * Merges runs with a tree of losers (Knuth, The Art of Computer Programming 3, §5.4.1), which takes one
 * comparison for each level and value.
 */
function mergeTexts(
  runs: readonly Run[],
  starts: readonly number[],
  ranks: Uint32Array,
  taker: Taker | undefined,
): number {
  const isMarked = runs.some(({ kind }) => kind === runKinds.numbers || kind === runKinds.marked)
  const cursors = runs.map(run => new RunCursor(run, isMarked, runs.length))
  const keys = cursors.map(({ key }) => key)
  const width = keys.length
  const losers = new Int32Array(width).fill(-1)
  let winner = -1
  // Each run climbs until it meets a place that no other run has reached yet.
  for (let run = width - 1; run >= 0; run--) winner = climb(losers, keys, run)
  let rank = -1
  let last = behindAll
  while (winner >= 0) {
    const key = keys[winner] as string
    if (key === behindAll) break
    if (key !== last) {
      rank++
      last = key
      taker?.key(key, isMarked)
    }
    const cursor = cursors[winner] as RunCursor
    ranks[(starts[winner] as number) + cursor.code] = rank
    cursor.next()
    keys[winner] = cursor.key
    winner = climb(losers, keys, winner)
  }
  return rank + 1
}

/** @returns the run with the least key; -1 while some runs have not climbed yet */
function climb(losers: Int32Array, keys: readonly string[], run: number): number {
  const width = keys.length
  let winner = run
  for (let place = (run + width) >> 1; place > 0; place >>= 1) {
    const loser = losers[place] as number
    if (loser < 0) {
      losers[place] = winner
      return -1
    }
    if ((keys[loser] as string) < (keys[winner] as string)) {
      losers[place] = winner
      winner = loser
    }
  }
  return winner
}

/** Bytes of all runs together that are read ahead. */
const readAhead = 2 * 1024 * 1024
const leastAhead = 4 * 1024

/** A key that sorts after every binary text. */
const behindAll = '\u0100'

/** Reads the values of a run in order, as binary texts. */
export class RunCursor {
  readonly #run: Run
  /** True if the keys have the marks of their kinds. */
  readonly #marked: boolean
  readonly #windowBytes: number
  #keys: readonly string[] = []
  #at = 0
  /** Positions, among the values, of the first key in the window and of the first one after it. */
  #from = 0
  #end = 0
  #position: number

  /** @param runs number of runs, which share the memory */
  constructor(run: Run, marked: boolean, runs: number) {
    this.#run = run
    this.#marked = marked
    this.#windowBytes = Math.max(leastAhead, Math.floor(readAhead / runs))
    this.#position = run.values
    this.#fill()
  }

  get key(): string {
    return this.#keys[this.#at] ?? behindAll
  }

  get code(): number {
    const entry = this.#from + this.#at
    return this.#run.codeOf?.[entry] ?? entry
  }

  next(): void {
    if (++this.#at >= this.#keys.length) this.#fill()
  }

  #fill(): void {
    this.#from = this.#end
    this.#at = 0
    this.#keys = []
    const { descriptor, kind, size } = this.#run
    if (this.#from === size) return
    const { length, bytes } = this.#window(size - this.#from)
    const values = Buffer.alloc(bytes)
    readAt(descriptor, values, this.#position)
    this.#position += bytes
    this.#end += length.length
    if (kind === runKinds.numbers) {
      this.#keys = Array.from(new Float64Array(values.buffer, values.byteOffset, length.length), markedNumber)
      return
    }
    const keys: string[] = new Array(length.length)
    for (let at = 0, from = 0; at < keys.length; at++) {
      const end = from + (length[at] as number)
      const key = values.toString('latin1', from, end)
      keys[at] = this.#marked && kind !== runKinds.marked ? markedText(key) : key
      from = end
    }
    this.#keys = keys
  }

  /** @returns the lengths of the values to read next: at least one, and as many as fit into the memory */
  #window(left: number): { length: Uint32Array; bytes: number } {
    const { descriptor, kind, lengths } = this.#run
    const most = Math.min(left, Math.floor(this.#windowBytes / 8))
    if (kind === runKinds.numbers) return { length: new Uint32Array(most), bytes: most * 8 }
    const length = new Uint32Array(most)
    readAt(descriptor, length, lengths + this.#from * 4)
    let count = 0
    let bytes = 0
    while (count < most && (count === 0 || bytes + (length[count] as number) <= this.#windowBytes))
      bytes += length[count++] as number
    return { length: length.subarray(0, count), bytes }
  }
}
