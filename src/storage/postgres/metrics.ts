import type { Awaitable } from '../../lib/awaitable.ts'
import type { FairQueue } from '../../lib/fair-queue.ts'
import type { Shared } from '../runtime/event-loops.ts'
import type { StoreMetrics } from '../storage.ts'
import type { Pool } from './driver.ts'

/** @param trailSize reads the size of the events that repeat */
export function postgresMetrics(
  pools: Readonly<Record<string, Pool>>,
  measured: {
    readonly pages: FairQueue
    readonly listings: FairQueue
    /** Reads the size of the versions that are held. */
    readonly held: () => Awaitable<number>
  },
  { listings, cacheUsage }: Shared,
  trailSize: () => Awaitable<number>,
): StoreMetrics {
  return {
    repeatedEvents: lately(trailSize),
    heldVersions: lately(measured.held),
    sizes: async () => ({}),
    pools: () => Object.entries(pools).map(([name, pool]) => ({ name, ...pool.usage() })),
    listings: listings.count,
    cache: cacheUsage,
    countQueues: measuresOf => {
      measured.pages.measure(measuresOf('pages'))
      measured.listings.measure(measuresOf('listing connections'))
    },
  }
}

/** Reads a number from the database. A scrape doesn't wait for it: it shows what the one before has asked for. */
function lately(read: () => Awaitable<number>): () => number | undefined {
  let known: number | undefined
  const ask = async () => {
    known = await read()
  }
  return () => {
    ask().catch(() => {})
    return known
  }
}
