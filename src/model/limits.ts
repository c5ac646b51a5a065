import { type Counter, createCounter } from '../lib/counter.ts'
import { createFairQueue, type FairQueue } from '../lib/fair-queue.ts'
import { createRows, type QueueMeasures, type Rows } from '../lib/tally.ts'

/** What a service does at the same time, counted over all its event loops. */
export interface Limits extends LoginQueues {
  /** Files that are being sent. */
  readonly transfers: Counter
  /** Large pieces of files in memory. */
  readonly largePieces: Counter
  /** Event loops that answer, and how many there are to be. */
  readonly loops: () => Loops
  /** What the event loops count for monitoring. */
  readonly rows: Rows
}

export interface LoginQueues {
  /** Passwords that are hashed. */
  readonly passwords: FairQueue
  /** Passwords that an LDAP directory verifies. */
  readonly directory: FairQueue
}

interface Loops {
  readonly running: number
  readonly wanted: number
  /** How many have ended since the service started, and were replaced. */
  readonly replaced: number
}

interface PasswordLimits {
  readonly passwordConcurrency: number
  readonly passwordQueue: number
  readonly singleSignOn: { readonly directory: { readonly connections: number } | null } | null
}

/**
 * A queue of one event loop, for work that clients wait for: with 1,000 places in all event loops together, and 15 s for
 * each turn to come.
 * @param loops how many share the places
 * @param max how much work runs at a time in this one
 */
export function createLoopQueue(
  loops: number,
  max: number,
  {
    maxWaiting = 1_000,
    measures,
    ...more
  }: { maxOfOne?: number; maxWaiting?: number; measures?: QueueMeasures } = {},
): FairQueue {
  const queue = createFairQueue({ max, maxWaiting: Math.ceil(maxWaiting / loops), maxWait: 15_000, ...more })
  if (measures) queue.measure(measures)
  return queue
}

/** For logins by password. A directory that is slow keeps nobody from logging in with a password of the service itself. */
export function createLoginQueues({
  passwordConcurrency,
  passwordQueue,
  singleSignOn,
}: PasswordLimits): LoginQueues {
  return {
    // One network may have all turns, as long as no other waits.
    passwords: createFairQueue({
      max: passwordConcurrency,
      maxOfOne: passwordConcurrency,
      maxWaiting: passwordQueue,
    }),
    directory: createFairQueue({
      max: singleSignOn?.directory?.connections ?? 1,
      maxWaiting: passwordQueue,
    }),
  }
}

/** The limits of a service with one event loop. */
export const ownLimits = (config: PasswordLimits): Limits => ({
  ...createLoginQueues(config),
  transfers: createCounter(),
  largePieces: createCounter(),
  loops: () => ({ running: 1, wanted: 1, replaced: 0 }),
  rows: { ...createRows(), own: 0 },
})
