import type { QueueMeasures } from '../lib/tally.ts'
import type { Queue } from '../model/measures.ts'

/** Called when the store has lost files, with advice, and with null when they are back. */
export type ReportLoss = (message: string | null) => void

/**
 * The store's clock: the machine's with an embedded store, and PostgreSQL's for all nodes. It never goes back,
 * even if that one is set back (T11, docs/decisions/0024). Expiry times are compared with it.
 */
export interface Clock {
  /** @returns milliseconds since 1970 */
  now(): number
  /**
   * Like `now`, but without a look at the store, for a caller that has just looked something up there and so
   * knows the current mark. On SQLite, a look is a system call.
   */
  afterLookUp(): number
  /**
   * A time that has certainly passed. Expired rows are removed by it, because the store's clock may be far
   * ahead for a moment.
   * @returns milliseconds since 1970; little after the start of a store that has no mark yet
   */
  certain(): number
  /** Time in ms by which the store's clock is behind; at most some milliseconds unless it was set back. */
  behind(): number
  /** Time in ms by which this machine's clock is ahead of the database's; null for an embedded store. */
  skew(): number | null
  /** The mark in the store, in ms since 1970. Times up to it stay past, after a restart and on all nodes. */
  kept(): number
  /**
   * Resolves when the store has recorded that a time has passed; writes at most once a second. Called before
   * a client is told that a genuine token has expired: otherwise it would be valid again when a clock that
   * was ahead is set back. A clock that is further ahead than `plausibleStep` records nothing.
   * @param time in ms since 1970
   */
  keep(time: number): Promise<void>
  /** Records the time in the store, so that it holds after a restart too. Called about once a minute. */
  advance(): Promise<void>
}

/** In ms. A time further ahead than this may be from a wrong clock. */
export const plausibleStep = 24 * 3600 * 1000
/** Difference in ms between the clocks of a node and the database from which on the operator is told. */
export const maxSkew = 1_000

/** Metrics of the store for an operator's monitoring (D5). Reading them costs the store next to nothing. */
export interface StoreMetrics {
  /** The size in bytes of the events that repeat, when it was last measured; undefined: not known yet. */
  repeatedEvents(): number | undefined
  /** The size in bytes of the versions that are held for snapshots; undefined: not known yet. */
  heldVersions(): number | undefined
  /** Bytes on disk. Empty if the files belong to a database server. */
  sizes(): Promise<Readonly<Partial<Record<StorePart, number>>>>
  /** This event loop's connections to a database server. */
  pools(): readonly PoolMetrics[]
  /** Long listings that are open, of all event loops. */
  listings(): number
  /** The cache of orders and records, which all event loops share. */
  cache(): CacheUsage
  /** Starts counting the work that waits in each of the store's queues. */
  countQueues(measuresOf: (name: Queue) => QueueMeasures): void
}

/** `wal`: the write-ahead log of `database`. */
type StorePart = 'database' | 'wal' | 'entities'

export interface PoolMetrics {
  readonly name: string
  readonly max: number
  readonly used: number
  readonly idle: number
  /** Requests that wait for a connection. */
  readonly waiting: number
}

export interface CacheUsage {
  readonly bytes: number
  readonly entries: number
}

/** A part of a list: at most `limit` elements after the first `offset`. */
export interface Window {
  readonly offset: number
  readonly limit: number
}

export interface Part<T> {
  readonly rows: readonly T[]
  /** Number of elements in the whole list. */
  readonly total: number
}
