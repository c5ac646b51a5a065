import assert, { AssertionError } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

/**
 * The limit of every wait in ms. It is long enough for the slowest machine, so only an event that never comes
 * reaches it.
 */
export const patience = 120_000

/** Minimum lifetime of a short-lived token in ms (T2). */
export const shortLife = 1_900

/** Pause between two looks, in ms. */
const pause = 10

/**
 * Waits for an effect of other threads, processes or clients. An error while looking counts as one more thing
 * seen, except that a failed assertion ends the wait.
 *
 * @param what completes the sentence "waited for …"
 * @returns the last thing seen
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  isReached: (seen: T) => boolean = Boolean,
): Promise<T> {
  let last: unknown = 'a look that has not ended'
  let isOver = false
  const lookAgain = async (): Promise<T> => {
    for (;;) {
      try {
        const seen = await look()
        last = seen
        if (isReached(seen)) return seen
      } catch (error) {
        if (error instanceof AssertionError) throw error
        last = error
      }
      // Stops looking when the wait is over.
      if (isOver) throw last
      await sleep(pause)
    }
  }
  const looking = lookAgain()
  try {
    return await within(what, looking, () => last)
  } finally {
    isOver = true
  }
}

/**
 * Waits for a promise, up to the limit.
 *
 * @param what completes the sentence "waited for …"
 * @param instead returns the current state, for the message
 */
export async function within<T>(what: string, promise: Promise<T>, instead: () => unknown): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const seen = inspect(instead(), { depth: 5, maxArrayLength: 20, maxStringLength: 2_000 })
    late.reject(new Error(`waited ${patience / 1000} s for ${what}; instead there was ${shortened(seen)}`))
  }, patience)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Repeats work that must finish within a limited time, such as the use of a short-lived token. A failure
 * counts only if the time was not over.
 *
 * @param time limit in ms from the beginning of the work
 */
export async function inTime<T>(time: number, work: () => Promise<T>): Promise<T> {
  const first = performance.now()
  for (;;) {
    const begun = performance.now()
    try {
      return await work()
    } catch (error) {
      if (performance.now() - begun < time || begun - first > patience) throw error
    }
  }
}

const shortened = (text: string) => (text.length > 4_000 ? `${text.slice(0, 4_000)}…` : text)

/**
 * Asks repeatedly until `exp` has passed. Answers received before it must be yes, and questions asked from
 * then on must be answered with no, however slow the machine is.
 *
 * @param exp seconds since 1970
 */
export async function assertAcceptedUntil(exp: number, isAccepted: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const asked = Date.now()
    const accepted = await isAccepted()
    if (asked >= exp * 1000) return assert.equal(accepted, false, 'accepted after exp')
    if (Date.now() < exp * 1000) assert.equal(accepted, true, 'refused before exp')
    // Often enough for questions within the last moments.
    await sleep(Math.max(0, Math.min(100, exp * 1000 - Date.now())))
  }
}
