import type { QueueMeasures } from '../lib/tally.ts'
import type { Queue } from '../model/measures.ts'

/** What an operator's monitoring shows of the store (D5). Reading it costs the store next to nothing. */
export interface StoreMetrics {
  /** Bytes on disk. Empty where the files are a database server's. */
  sizes(): Promise<Readonly<Partial<Record<StorePart, number>>>>
  /** This event loop's connections to a database server. */
  pools(): readonly PoolMetrics[]
  /** Long listings that are open, of all event loops. */
  listings(): number
  /** The cache of orders and records, which all event loops share. */
  cache(): CacheUsage
  /** Counts from now on what waits for the store, in each of its queues. */
  countQueues(measuresOf: (name: Queue) => QueueMeasures): void
}

/** `wal`: the write-ahead log of `database`. */
export type StorePart = 'database' | 'wal' | 'entities'

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
