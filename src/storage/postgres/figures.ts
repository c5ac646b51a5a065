import type { FairQueue } from '../../lib/fair-queue.ts'
import type { StoreFigures } from '../figures.ts'
import type { Shared } from '../shared/event-loops.ts'
import type { Pool } from './driver.ts'

export const postgresFigures = (
  pools: Readonly<Record<string, Pool>>,
  queues: { readonly pages: FairQueue; readonly listings: FairQueue },
  { listings, cacheUsage }: Shared,
): StoreFigures => ({
  sizes: async () => ({}),
  pools: () => Object.entries(pools).map(([name, pool]) => ({ name, ...pool.usage() })),
  listings: listings.count,
  cache: cacheUsage,
  countQueues: measuresOf => {
    queues.pages.measure(measuresOf('pages'))
    queues.listings.measure(measuresOf('listing connections'))
  },
})
