import type { StoreFigures } from '../figures.ts'
import type { Shared } from '../shared/event-loops.ts'
import type { Pool } from './driver.ts'

export const postgresFigures = (
  pools: Readonly<Record<string, Pool>>,
  { listings, cacheUsage }: Shared,
): StoreFigures => ({
  sizes: async () => ({}),
  pools: () => Object.entries(pools).map(([name, pool]) => ({ name, ...pool.usage() })),
  listings: listings.count,
  cache: cacheUsage,
})
