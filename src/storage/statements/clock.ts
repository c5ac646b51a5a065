import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, plausibleStep } from '../clock.ts'
import { run, type StatementsOf } from './statements.ts'

/** The mark in a store: a time that has certainly been, in ms since 1970; 0: none yet. */
export interface Mark {
  /** A recent value. Called very often. @param hasLooked true if the caller has just looked something up in the store */
  read(hasLooked: boolean): number
  /** Moves it, unless it is ahead of that, or was reset since `from` was read. */
  raise(to: number, from: number): Promise<void>
}

/** The change of the mark, which each engine reads in its own way. */
export const clock = {
  reads: {},
  changes: {
    *raise(to, from) {
      yield* run('UPDATE state SET mark = $1 WHERE mark < $1 AND mark >= $2', to, from)
    },
  },
} satisfies StatementsOf<Pick<Mark, 'raise'>>

/** Time in ms without a jump after which a clock that is too far ahead is believed. */
const proof = 10 * 60 * 1000
/** In ms. A larger difference from the elapsed time is a jump. */
const maxDeviation = 60 * 1000
/** While the machine's clock is behind, time passes this much slower: what is ahead by a little meets it again. */
const rate = 0.999

/** Minimum time between two writes of the mark that expired tokens cause, in ms. */
const keepInterval = 1_000

/** The clocks at one moment, in ms: that of the machine, and the one that only counts. */
interface Reading {
  readonly wall: number
  readonly at: number
}

/**
 * Where the mark may move. A clock that jumped far ahead moves it only after a while: if it is soon put right, nobody's
 * session has ended.
 * @param time how far time has got
 * @param suspect when the clock was first seen to be too far ahead
 */
export function nextMark(time: number, { wall, at }: Reading, suspect: Reading | undefined) {
  if (wall - time <= plausibleStep) return { mark: Math.max(wall, time), suspect: undefined }
  const isSteady = suspect && Math.abs(wall - suspect.wall - (at - suspect.at)) < maxDeviation
  if (!isSteady) return { mark: time, suspect: { wall, at } }
  return at - suspect.at < proof ? { mark: time, suspect } : { mark: wall, suspect: undefined }
}

/** The clock of every engine: the machine's, or the one that goes on from the mark, whichever is ahead. */
export function createClock({ read, raise }: Mark): Clock {
  let stored = 0
  let anchor: Reading = { wall: 0, at: 0 }
  let suspect: Reading | undefined

  const timeAt = (at: number) => Math.floor(anchor.wall + (at - anchor.at) * rate)

  /** The time by the mark alone. */
  function marked(hasLooked = false): number {
    const at = performance.now()
    const mark = read(hasLooked)
    if (mark !== stored) {
      // A lower one was reset by the operator.
      if (mark < stored || mark > timeAt(at)) anchor = { wall: mark, at }
      stored = mark
    }
    return timeAt(at)
  }

  async function advance(): Promise<void> {
    const time = marked()
    const reading = { wall: Date.now(), at: performance.now() }
    // There is nothing to compare the first one with.
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
  /** Those who come while it is being kept share the next time, which is read after they came. */
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
    now: () => Math.max(Date.now(), marked()),
    afterLookUp: () => Math.max(Date.now(), marked(true)),
    certain: () => marked(),
    behind: () => Math.max(0, marked() - Date.now()),
  }
}
