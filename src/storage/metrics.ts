import type { QueueMeasures } from '../lib/tally.ts'
import type { Queue } from '../model/measures.ts'

/** Metrics of the store for an operator's monitoring (D5). Reading them costs the store next to nothing. */
export interface StoreMetrics {
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
