import { snapshotsOfSqlite } from '../../storage/copy/snapshot-sqlite.ts'
import type { Source } from './make.ts'

interface Store {
  readonly database: { readonly kind: 'embedded' } | { readonly kind: 'postgres'; readonly url: string }
  readonly dataFolder: string
  readonly filesFolder: string
}

/** Returns the store to back up. */
export async function sourceOf({ database, dataFolder, filesFolder }: Store): Promise<Source> {
  if (database.kind === 'embedded') return { takeSnapshot: snapshotsOfSqlite(dataFolder), filesFolder }
  const { snapshotsOfPostgres } = await import('../../storage/copy/snapshot-postgres.ts')
  return { takeSnapshot: snapshotsOfPostgres(database.url), filesFolder }
}
