import type { Awaitable } from '../../lib/awaitable.ts'
import type { FairQueue } from '../../lib/fair-queue.ts'
import type { Shared } from '../runtime/event-loops.ts'
import type { StoreMetrics } from '../storage.ts'
import type { Pool } from './driver.ts'

/** @param trailSize reads the size of the events that repeat */
export function postgresMetrics(
  pools: Readonly<Record<string, Pool>>,
  queues: { readonly pages: FairQueue; readonly listings: FairQueue },
  { listings, cacheUsage }: Shared,
  trailSize: () => Awaitable<number>,
): StoreMetrics {
  let repeated: number | undefined
  async function askTrailSize(): Promise<void> {
    repeated = await trailSize()
  }
  return {
    // A scrape doesn't wait for the database: it shows what the one before has asked for.
    repeatedEvents: () => {
      askTrailSize().catch(() => {})
      return repeated
    },
    sizes: async () => ({}),
    pools: () => Object.entries(pools).map(([name, pool]) => ({ name, ...pool.usage() })),
    listings: listings.count,
    cache: cacheUsage,
    countQueues: measuresOf => {
      queues.pages.measure(measuresOf('pages'))
      queues.listings.measure(measuresOf('listing connections'))
    },
  }
}
