import { statSync } from 'node:fs'
import { administratorGroup } from '../../model/accounts.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import { type StoreFacts, searchedEvents } from '../inspection.ts'
import { madeBefore } from '../schema.ts'
import { type Database, openDatabase } from './driver.ts'
import { databaseFile, isOfNow, requireStore } from './migrate.ts'
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
    const newestEvent = db.get<{ time: string }>('SELECT time FROM event ORDER BY id DESC LIMIT 1')?.time
    const newestBackup = db.get<{ time: string | null }>(
      `SELECT max(time) AS time FROM (SELECT time, event, outcome FROM event ORDER BY id DESC LIMIT ${searchedEvents})
       WHERE event = 'store.backup' AND outcome = 'success'`,
    )?.time
    const made = readSecrets(dataFolder)[0]?.made
    return {
      migrationsMissing: migrations.length - version,
      administrators: countAdministrators(db),
      newestEvent: toTime(newestEvent),
      newestBackup: toTime(newestBackup),
      secretMade: toTime(made),
      hasFiles:
        version === migrations.length &&
        db.get<{ found: number }>('SELECT EXISTS (SELECT 1 FROM bitstream) AS found')?.found === 1,
      server: null,
    }
  } finally {
    db.close()
  }
}

const countAdministrators = (db: Database): number =>
  db.get<{ count: number }>(
    `SELECT count(*) AS count FROM eperson e JOIN membership m ON m.eperson = e.uuid
       JOIN epersongroup g ON g.uuid = m.epersongroup WHERE g.name = ? AND e.enabled`,
    administratorGroup,
  )?.count ?? 0

/**
 * Without a log, nothing runs on the store and all of it is in one file: a connection that expects no change makes none.
 * With one, a read-only connection reads it, and leaves it where it is.
 */
const openUntouched = (file: string): Database =>
  openDatabase(file, {
    mode: statSync(`${file}-wal`, { throwIfNoEntry: false }) ? 'inspect' : 'immutable',
  })

function toTime(text: string | null | undefined): number | null {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? null : time
}
