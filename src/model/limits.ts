import { type Counter, createCounter } from '../lib/counter.ts'
import { createSemaphore, type Semaphore } from '../lib/semaphore.ts'
import { createRows, type Rows } from '../lib/tally.ts'

/** What a service does at the same time, counted over all its event loops. */
export interface Limits {
  /** Passwords that are hashed. Rejects with `QueueFull`. */
  readonly passwords: Semaphore
  /** Files that are being sent. */
  readonly transfers: Counter
  /** Large pieces of files in memory. */
  readonly largePieces: Counter
  /** Event loops that answer, and how many there are to be. */
  readonly loops: () => Loops
  /** What the event loops count for monitoring. */
  readonly rows: Rows
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
}

/** The limits of a service with one event loop. */
export const ownLimits = ({ passwordConcurrency, passwordQueue }: PasswordLimits): Limits => ({
  passwords: createSemaphore(passwordConcurrency, passwordQueue),
  transfers: createCounter(),
  largePieces: createCounter(),
  loops: () => ({ running: 1, wanted: 1, replaced: 0 }),
  rows: { ...createRows(), own: 0 },
})
