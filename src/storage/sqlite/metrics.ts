import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoreMetrics } from '../metrics.ts'
import type { Shared } from '../runtime/event-loops.ts'
import { databaseFile, entitiesFolder } from './migrate.ts'
import type { ReaderThreads } from './reader-threads.ts'

/** Sizes come from the file system: only SQLite may open its files (docs/decisions/0005). */
export function sqliteMetrics(
  dataFolder: string,
  readerThreads: Pick<ReaderThreads, 'measure'>,
  { listings, cacheUsage }: Shared,
): StoreMetrics {
  const file = databaseFile(dataFolder)
  const entities = entitiesFolder(dataFolder)
  return {
    sizes: async () => {
      const names = await readdir(entities).catch(() => [])
      const ofEntities = await Promise.all(names.map(name => sizeOf(join(entities, name))))
      return {
        database: await sizeOf(file),
        wal: await sizeOf(`${file}-wal`),
        entities: ofEntities.reduce((sum, size) => sum + size, 0),
      }
    },
    pools: () => [],
    listings: listings.count,
    cache: cacheUsage,
    countQueues: measuresOf => readerThreads.measure(measuresOf('pages')),
  }
}

/** Size in bytes; 0 for a file that isn't there, such as a version of an entity that was just removed. */
const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )
