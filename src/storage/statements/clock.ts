import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, plausibleStep } from '../storage.ts'
import type { StatementsOf } from './statements.ts'
import * as db from './statements.ts'

/** The mark in a store: a time that has certainly passed, in ms since 1970; 0: none yet. */
export interface Mark {
  /**
   * Returns a recent value. Called very often.
   * @param hasLooked true if the caller has just read from the store
   */
  read(hasLooked: boolean): number
  /** Raises the mark to `to`, unless it is that high already or was reset since `from` was read. */
  raise(to: number, from: number): Promise<void>
}

/** The change of the mark, which each engine reads in its own way. */
export const clock = {
  reads: {},
  changes: {
    *raise(to, from) {
      yield* db.run('UPDATE state SET mark = $1 WHERE mark < $1 AND mark >= $2', to, from)
    },
  },
} satisfies StatementsOf<Pick<Mark, 'raise'>>

/** Time in ms without a jump after which a clock that is too far ahead is believed. */
const proof = 10 * 60 * 1000
/** In ms. A larger difference from the elapsed time is a jump. */
const maxDeviation = 60 * 1000
/** Relative speed of time while the store's clock is behind, so that it catches up with a small lead. */
const rate = 0.999

/** Minimum time between two writes of the mark that expired tokens cause, in ms. */
const keepInterval = 1_000

/**
 * A step ahead that is followed at once, in ms. So event loops and nodes, which see a mark at different times,
 * go on from the same time when the store's clock is set back.
 */
const smallStep = 100

/** Two clocks at one moment, in ms: the store's, and the monotonic one. */
interface Reading {
  readonly wall: number
  readonly at: number
}

/**
 * Returns the next mark. A clock that jumped far ahead moves the mark only after `proof`: if it is put right
 * before then, no session has ended.
 * @param time the time by the current mark
 * @param suspect the reading that first found the clock too far ahead
 */
export function nextMark(time: number, { wall, at }: Reading, suspect: Reading | undefined) {
  if (wall - time <= plausibleStep) return { mark: Math.max(wall, time), suspect: undefined }
  const isSteady = suspect && Math.abs(wall - suspect.wall - (at - suspect.at)) < maxDeviation
  if (!isSteady) return { mark: time, suspect: { wall, at } }
  return at - suspect.at < proof ? { mark: time, suspect } : { mark: wall, suspect: undefined }
}

/** The store's own clock, in ms since 1970, which may be set. */
type Wall = () => number

/**
 * The clock of both engines: the store's own, or the one that goes on from the mark, whichever is ahead.
 * @param wall of an embedded store, the machine's clock
 */
export function createClock({ read, raise }: Mark, wall: Wall = () => Date.now()): Omit<Clock, 'skew'> {
  let stored = 0
  let anchor: Reading = { wall: 0, at: 0 }
  let suspect: Reading | undefined

  const timeAt = (at: number) => Math.floor(anchor.wall + (at - anchor.at) * rate)

  /** The time by the mark alone. */
  function marked(hasLooked = false): number {
    const at = performance.now()
    const mark = read(hasLooked)
    if (mark !== stored) {
      // A lower mark was reset by the operator.
      if (mark < stored || mark > timeAt(at)) anchor = { wall: mark, at }
      stored = mark
    }
    const time = timeAt(at)
    const step = wall() - time
    if (step <= 0 || step > smallStep) return time
    anchor = { wall: time + step, at }
    return anchor.wall
  }

  async function advance(): Promise<void> {
    const time = marked()
    const reading = { wall: wall(), at: performance.now() }
    // The first reading has nothing to be compared with.
    const next = anchor.wall === 0 ? { mark: reading.wall, suspect } : nextMark(time, reading, suspect)
    suspect = next.suspect
    anchor = { wall: next.mark, at: reading.at }
    await raise(Math.floor(next.mark), stored)
  }

  /** The current mark of the store, as far as it is known. */
  function kept(): number {
    marked()
    return stored
  }

  let keptAt = Number.NEGATIVE_INFINITY
  let keeping: Promise<void> | undefined
  /** Writes the mark. Callers share the first write that reads the time after they came. */
  async function keepNext(): Promise<void> {
    const pause = keptAt + keepInterval - performance.now()
    if (pause > 0) await sleep(pause)
    keeping = undefined
    keptAt = performance.now()
    await advance()
  }

  return {
    kept,
    keep: async time => {
      if (kept() >= time) return
      keeping ??= keepNext()
      await keeping
    },
    advance,
    now: () => Math.max(wall(), marked()),
    afterLookUp: () => Math.max(wall(), marked(true)),
    certain: () => marked(),
    behind: () => Math.max(0, marked() - wall()),
  }
}
