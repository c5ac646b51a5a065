import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { StoreUnavailable } from '../../model/errors.ts'
import type { Storage } from '../storage.ts'
import { sqliteAccounts } from './accounts.ts'
import { openDatabase } from './driver.ts'
import { sqliteEntities } from './entities.ts'
import { createGroupCommit } from './group-commit.ts'
import { sqliteIdentities } from './identities.ts'
import { migrate } from './migrate.ts'
import { sqliteRepository } from './repository.ts'
import { fileSecrets } from './secrets.ts'
import { createSharedSnapshot } from './shared-snapshot.ts'

interface SqliteOptions {
  readonly dataFolder: string
  /** Bytes of orders and records that are kept in memory. */
  readonly cacheSize: number
}

/** Opens the embedded store, creating it where there is none. */
export async function openEngine(options: SqliteOptions): Promise<Storage> {
  try {
    mkdirSync(join(options.dataFolder, 'entities'), { recursive: true, mode: 0o700 })
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code
    throw new StoreUnavailable(
      `the data folder ${options.dataFolder} can't be used (${why}); set CARREL_DATA`,
      { cause: error },
    )
  }
  const file = join(options.dataFolder, 'carrel.db')
  const migrating = openDatabase(file, { mode: 'write' })
  try {
    migrate(migrating)
  } finally {
    migrating.close()
  }
  const db = openDatabase(file, { mode: 'read', cache: 4_000 })
  const snapshot = createSharedSnapshot(db)
  const writer = createGroupCommit(file, snapshot.end)
  const secrets = fileSecrets(options.dataFolder, writer.write)
  const entities = sqliteEntities({
    db,
    snapshot,
    file,
    write: writer.write,
    dataFolder: options.dataFolder,
    cacheSize: options.cacheSize,
  })
  return {
    accounts: sqliteAccounts({ db, snapshot, write: writer.write }),
    entities,
    repository: sqliteRepository({ db, write: writer.write }),
    secrets,
    identities: sqliteIdentities({ db, write: writer.write }),
    ping: () => {
      db.get('SELECT one FROM state')
    },
    close: async () => {
      await writer.close()
      await entities.close()
      snapshot.end()
      db.close()
    },
  }
}
