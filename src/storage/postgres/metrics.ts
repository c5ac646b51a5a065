import type { FairQueue } from '../../lib/fair-queue.ts'
import type { Shared } from '../runtime/event-loops.ts'
import type { StoreMetrics } from '../storage.ts'
import type { Pool } from './driver.ts'

export const postgresMetrics = (
  pools: Readonly<Record<string, Pool>>,
  queues: { readonly pages: FairQueue; readonly listings: FairQueue },
  { listings, cacheUsage }: Shared,
): Omit<StoreMetrics, 'repeatedEvents'> => ({
  sizes: async () => ({}),
  pools: () => Object.entries(pools).map(([name, pool]) => ({ name, ...pool.usage() })),
  listings: listings.count,
  cache: cacheUsage,
  countQueues: measuresOf => {
    queues.pages.measure(measuresOf('pages'))
    queues.listings.measure(measuresOf('listing connections'))
  },
})
