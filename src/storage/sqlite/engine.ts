import { statSync } from 'node:fs'
import { makeFolder } from '../../lib/make-folder.ts'
import { systemReason } from '../../lib/system-errors.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import type { Shared } from '../shared/event-loops.ts'
import type { Storage } from '../storage.ts'
import { sqliteAccounts } from './accounts.ts'
import { sqliteAttempts } from './attempts.ts'
import { sqliteAudiences } from './audiences.ts'
import { sqliteClock } from './clock.ts'
import { openDatabase } from './driver.ts'
import { sqliteEntities } from './entities.ts'
import { sqliteFigures } from './figures.ts'
import { createGroupCommit } from './group-commit.ts'
import { sqliteIdentities } from './identities.ts'
import { databaseFile, entitiesFolder, migrate } from './migrate.ts'
import { createReaderThreads } from './reader-threads.ts'
import { sqliteRepository } from './repository.ts'
import { fileSecrets } from './secrets.ts'
import { createSharedSnapshot } from './shared-snapshot.ts'

interface SqliteOptions {
  readonly dataFolder: string
  /** Whether to create a store where there is none. */
  readonly create: boolean
  /** Metadata fields that only administrators see (Q19). */
  readonly hiddenMetadata: readonly string[]
  /** What the event loops of this process share. */
  readonly shared: Shared
  /** Of a statement of a listing, in ms. */
  readonly statementTimeout: number
}

/**
 * Opens the embedded store.
 * @throws StoreUnavailable when there is none and none is to be created, or it can't be used
 */
export async function openEngine({
  dataFolder,
  create,
  hiddenMetadata,
  shared,
  statementTimeout,
}: SqliteOptions): Promise<Storage> {
  const file = databaseFile(dataFolder)
  let isNew: boolean
  try {
    isNew = migrate(dataFolder, create)
    makeFolder(entitiesFolder(dataFolder))
  } catch (error) {
    throw asUnusable(error, dataFolder)
  }
  const connection = openDatabase(file, { mode: 'read', cache: 4_000, mayGoOn: () => true })
  const snapshot = await createSharedSnapshot(connection, () => shared.keepOpen(`${file}-shm`))
  const { db } = snapshot
  const requireFile = fileCheck(file)
  const writer = createGroupCommit(file, shared)
  const secrets = fileSecrets(dataFolder, writer.write)
  const readerThreads = createReaderThreads(shared, statementTimeout)
  const audiencesOf = sqliteAudiences(db, snapshot)
  const entities = sqliteEntities({
    db,
    audiencesOf,
    readerThreads,
    snapshot,
    file,
    write: writer.write,
    dataFolder,
    hiddenMetadata,
    shared,
  })
  return {
    isNew,
    accounts: sqliteAccounts({ db, snapshot, write: writer.write, file, readerThreads }),
    attempts: sqliteAttempts({ db, write: writer.write }),
    entities,
    repository: sqliteRepository({ db, write: writer.write, audiencesOf }),
    secrets,
    identities: sqliteIdentities({ db, write: writer.write }),
    figures: sqliteFigures(dataFolder, shared),
    clock: sqliteClock({ db, write: writer.write }),
    ping: () => {
      requireFile()
      db.get('SELECT one FROM state')
    },
    close: async () => {
      await writer.close()
      await readerThreads.close()
      entities.close()
      snapshot.close()
    },
  }
}

/** @returns a function that throws if the file is not there any more, is another one, or was cut off */
function fileCheck(file: string): () => void {
  let known = statSync(file)
  return () => {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found?.dev !== known.dev || found.ino !== known.ino || found.size < known.size)
      throw new StoreUnavailable(
        `${file} was removed, replaced or cut off; put it back and restart the service`,
      )
    known = found
  }
}

/** What the operating system says of the folder; anything else stays what it is. */
function asUnusable(error: unknown, dataFolder: string): unknown {
  const reason = systemReason(error)
  if (reason === undefined) return error
  return new StoreUnavailable(`the data folder ${dataFolder} can't be used: ${reason}; set CARREL_DATA`, {
    cause: error,
  })
}
