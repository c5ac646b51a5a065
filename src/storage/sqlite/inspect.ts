import { statSync } from 'node:fs'
import { StoreUnavailable } from '../../model/errors.ts'
import type { StoreFacts } from '../inspection.ts'
import { madeBefore } from '../schema.ts'
import { factsOf, toTime } from '../statements/inspect.ts'
import { type Database, openDatabase } from './driver.ts'
import { databaseFile, isOfNow, requireStore } from './migrate.ts'
import { perform } from './perform.ts'
import { migrations } from './schema.ts'
import { readSecrets } from './secrets.ts'

/**
 * Reads what can be told of the embedded store, also while a service runs on it, and changes nothing: no schema, no file.
 * @throws StoreUnavailable when there is none, or it can't be read
 */
export function inspectStore(dataFolder: string): StoreFacts {
  requireStore(dataFolder)
  const db = openUntouched(databaseFile(dataFolder))
  try {
    const version = db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
    // A start that is just creating it.
    if (version === 0) throw new StoreUnavailable(`no store in ${dataFolder}; set CARREL_DATA`)
    if (!isOfNow(db)) throw madeBefore(dataFolder)
    return {
      ...perform(db, factsOf(version === migrations.length)),
      migrationsMissing: migrations.length - version,
      secretMade: toTime(readSecrets(dataFolder)[0]?.made),
      server: null,
    }
  } finally {
    db.close()
  }
}

/**
 * Without a log, nothing runs on the store and all of it is in one file: a connection that expects no change makes none.
 * With one, a read-only connection reads it, and leaves it where it is.
 */
const openUntouched = (file: string): Database =>
  openDatabase(file, {
    mode: statSync(`${file}-wal`, { throwIfNoEntry: false }) ? 'inspect' : 'immutable',
  })
