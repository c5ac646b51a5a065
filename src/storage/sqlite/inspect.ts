import { statSync } from 'node:fs'
import { StoreUnavailable } from '../../lib/errors.ts'
import { newestOf } from '../schema.ts'
import { factsOf, type StoreFacts, toTime } from '../statements/inspect.ts'
import { type Database, openDatabase } from './driver.ts'
import { databaseFile, requireCarrel, requireStore, versionIn } from './migrate.ts'
import { perform } from './perform.ts'
import { schema } from './schema.ts'
import { readSecrets } from './secrets.ts'

/**
 * Reads facts about the embedded store, even while a service runs on it, without changing its schema or
 * files.
 * @throws StoreUnavailable when there is none, or it can't be read
 */
export function inspectStore(dataFolder: string): StoreFacts {
  requireStore(dataFolder)
  const db = openUntouched(databaseFile(dataFolder))
  try {
    const version = versionIn(db)
    // A start is just creating the store.
    if (version === 0) throw new StoreUnavailable(`no store in ${dataFolder}; set CARREL_DATA`)
    requireCarrel(db, dataFolder)
    return {
      ...perform(db, factsOf(version === newestOf(schema))),
      migrationsMissing: newestOf(schema) - version,
      secretMade: toTime(readSecrets(dataFolder)[0]?.made),
      server: null,
    }
  } finally {
    db.close()
  }
}

/**
 * Without a log, no program uses the store and all of it is in one file: an `immutable` connection changes
 * nothing. With a log, a read-only connection reads it, and leaves it where it is.
 */
const openUntouched = (file: string): Database =>
  openDatabase(file, {
    mode: statSync(`${file}-wal`, { throwIfNoEntry: false }) ? 'inspect' : 'immutable',
  })
