import { readAt, writeAt } from '../lib/files-at.ts'
import { release } from '../lib/memory.ts'
import { type Run, runKinds } from './batches.ts'
import { distinctIn, placeOf } from './column.ts'
import { behindAll, RunCursor } from './run-cursor.ts'

/** Takes the distinct values of a field, in order. */
export interface Taker {
  /** @param key of a value @param isMarked true if it has the mark of its kind (sort-keys.ts) */
  key(key: string, isMarked: boolean): void
  /** @param sorted the next values, if all are numbers */
  numbers(sorted: Float64Array): void
}

/** A part of a file in which there is room for four bytes for each value of each run. */
interface Room {
  readonly descriptor: number
  readonly position: number
}

/** Ranks of all runs that are held in memory until they are written. */
const heldRanks = 512 * 1024
const leastHeld = 256

/** The ranks of the values of several runs. Those of a run are found in order, and written now and then. */
export class RunRanks {
  readonly #room: Room
  readonly #runs: readonly Run[]
  /** The place at which the ranks of each run begin in the file. */
  readonly #starts: readonly number[]
  /** Number of ranks held of each run. */
  readonly #length: number
  readonly #held: Uint32Array
  readonly #filled: Uint32Array
  readonly #written: Uint32Array
  /** Number of distinct values. */
  distinct = 0

  constructor(runs: readonly Run[], room: Room) {
    this.#room = room
    this.#runs = runs
    let total = 0
    this.#starts = runs.map(({ size }) => {
      total += size
      return total - size
    })
    const longest = runs.reduce((most, { size }) => Math.max(most, size), 0)
    this.#length = Math.min(longest, Math.max(leastHeld, Math.floor(heldRanks / Math.max(1, runs.length))))
    this.#held = new Uint32Array(this.#length * runs.length)
    this.#filled = new Uint32Array(runs.length)
    this.#written = new Uint32Array(runs.length)
  }

  /** Adds the rank of the next value of a run. */
  add(run: number, rank: number): void {
    if (this.#filled[run] === this.#length) this.#write(run)
    const filled = this.#filled[run] as number
    this.#held[run * this.#length + filled] = rank
    this.#filled[run] = filled + 1
  }

  #write(run: number): void {
    const from = run * this.#length
    const held = this.#held.subarray(from, from + (this.#filled[run] as number))
    const written = this.#written[run] as number
    writeAt(this.#room.descriptor, held, this.#positionOf(run) + written * Uint32Array.BYTES_PER_ELEMENT)
    this.#written[run] = written + held.length
    this.#filled[run] = 0
  }

  #positionOf(run: number): number {
    return this.#room.position + (this.#starts[run] as number) * Uint32Array.BYTES_PER_ELEMENT
  }

  /** Returns the ranks of a run by code, once all are added. They are valid until the next call. */
  of(run: number): Uint32Array {
    const { size, codeOf } = this.#runs[run] as Run
    const from = run * this.#length
    let ranks = this.#held.subarray(from, from + size)
    if (this.#written[run] !== 0) {
      if (this.#filled[run] !== 0) this.#write(run)
      ranks = new Uint32Array(size)
      readAt(this.#room.descriptor, ranks, this.#positionOf(run))
    }
    if (!codeOf) return ranks
    const byCode = new Uint32Array(size)
    for (let entry = 0; entry < size; entry++) byCode[codeOf[entry] as number] = ranks[entry] as number
    return byCode
  }
}

/** Ends the part of a key by which values are compared. The rest tells how a value is written. */
export const endOfCompared = '\0'

/**
 * Merges the runs of a field.
 * @param room is written over
 * @param isSplit true if keys have a part that isn't compared
 */
export function mergeRuns(
  runs: readonly Run[],
  room: Room,
  taker: Taker | undefined,
  isSplit = false,
): RunRanks {
  const ranks = new RunRanks(runs, room)
  if (runs.every(({ kind }) => kind === runKinds.numbers)) mergeNumbers(runs, ranks, taker)
  else mergeTexts(runs, ranks, taker, isSplit)
  return ranks
}

/** Numbers that are sorted at a time, about; each takes eight bytes. */
const sortedAtOnce = 2 ** 19

/** Merges runs of numbers. Sorting numbers of all runs together is fastest, and their memory is limited. */
function mergeNumbers(runs: readonly Run[], ranks: RunRanks, taker: Taker | undefined): void {
  const bounds = boundsOf(runs)
  const read = (run: number, from: number, end: number) => {
    const { descriptor, values } = runs[run] as Run
    const numbers = new Float64Array(end - from)
    readAt(descriptor, numbers, values + from * Float64Array.BYTES_PER_ELEMENT)
    return numbers
  }
  /** For each part, the end of each run's numbers in it. */
  const ends = [...bounds.map(() => new Uint32Array(runs.length)), Uint32Array.from(runs, ({ size }) => size)]
  if (bounds.length > 0)
    for (const [run, { size }] of runs.entries()) {
      const numbers = read(run, 0, size)
      for (const [part, bound] of bounds.entries())
        (ends[part] as Uint32Array)[run] = numberBelow(numbers, bound)
    }
  let starts = new Uint32Array(runs.length)
  for (const end of ends) {
    const parts = runs.map((_, run) => read(run, starts[run] as number, end[run] as number))
    const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      all.set(part, at)
      at += part.length
    }
    all.sort()
    const sorted = distinctIn(all)
    for (const [run, part] of parts.entries()) {
      let rank = 0
      for (let n = 0; n < part.length; n++) {
        rank = placeOf(sorted, part[n] as number, rank)
        ranks.add(run, ranks.distinct + rank)
      }
    }
    ranks.distinct += sorted.length
    taker?.numbers(sorted)
    for (const array of [all, ...parts]) release(array)
    starts = end
  }
}

/** Distance between the numbers of a run from which the bounds of the parts are taken. */
const sampleStep = 64

/** Returns numbers between which there are about as many as are sorted at a time. */
function boundsOf(runs: readonly Run[]): readonly number[] {
  const total = runs.reduce((sum, { size }) => sum + size, 0)
  const parts = Math.ceil(total / sortedAtOnce)
  if (parts <= 1) return []
  const samples: number[] = []
  for (const { descriptor, size, values } of runs) {
    const numbers = new Float64Array(size)
    readAt(descriptor, numbers, values)
    for (let n = sampleStep - 1; n < size; n += sampleStep) samples.push(numbers[n] as number)
  }
  const sorted = Float64Array.from(samples).sort()
  return Array.from(
    { length: parts - 1 },
    (_, part) => sorted[Math.floor(((part + 1) * sorted.length) / parts)] as number,
  )
}

/** Returns how many of the numbers, which are in order, are less than the bound. */
function numberBelow(numbers: Float64Array, bound: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] as number) < bound) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Merges runs with a tree of losers (Knuth, The Art of Computer Programming 3, §5.4.1), which takes one
 * comparison for each level and value.
 */
function mergeTexts(runs: readonly Run[], ranks: RunRanks, taker: Taker | undefined, isSplit: boolean): void {
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
      if (!isSplit || comparedIn(key) !== comparedIn(last)) rank++
      last = key
      taker?.key(key, isMarked)
    }
    ranks.add(winner, rank)
    const cursor = cursors[winner] as RunCursor
    cursor.next()
    keys[winner] = cursor.key
    winner = climb(losers, keys, winner)
  }
  ranks.distinct = rank + 1
}

const comparedIn = (key: string): string => key.slice(0, key.indexOf(endOfCompared))

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
