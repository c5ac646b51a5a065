import { type FileHandle, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StoreUnavailable } from '../../lib/errors.ts'
import { unlessMissing } from '../../lib/system-errors.ts'
import { type Database, openDatabase } from '../sqlite/driver.ts'
import { databaseFile } from '../sqlite/migrate.ts'
import { baseOf } from '../sqlite/record-versions.ts'
import { readSecrets, secretText } from '../sqlite/secrets.ts'
import { entityPath, openStaged, type Snapshot, type TakeSnapshot } from './snapshot.ts'

/** Maximum number of attempts while imports replace entities. */
const maxAttempts = 5

/**
 * Snapshots of the embedded store in a folder, while other processes change it. `VACUUM INTO` copies the
 * database, without deleted data, in one read transaction (https://sqlite.org/lang_vacuum.html#vacuuminto).
 */
export const snapshotsOfSqlite =
  (dataFolder: string): TakeSnapshot =>
  async (staging, known, progress) => {
    progress('database', 0)
    for (let attempt = 1; ; attempt++) {
      const snapshot = await trySnapshot(dataFolder, staging, known)
      if (snapshot) return snapshot
      if (attempt === maxAttempts)
        throw new StoreUnavailable('entities are replaced faster than they can be copied; back up later')
    }
  }

/** @returns undefined when a version of an entity was removed before it could be opened */
async function trySnapshot(
  dataFolder: string,
  staging: string,
  known: ReadonlySet<string>,
): Promise<Snapshot | undefined> {
  // A replaced version is removed a minute later, while a large database is copied; open files stay readable.
  const opened = new Map<string, FileHandle>()
  const openVersions = async (db: Database): Promise<boolean> => {
    for (const version of versionsIn(db)) {
      if (opened.has(version) || known.has(entityPath(version))) continue
      const file = await unlessMissing(open(join(dataFolder, entityPath(version))))
      if (!file) return false
      opened.set(version, file)
    }
    return true
  }
  const closeOpened = async () => {
    for (const file of opened.values()) await file.close()
  }
  const copy = join(staging, 'carrel.db')
  // The copy is made on this connection, which therefore may write; it doesn't.
  const db = openDatabase(databaseFile(dataFolder), { mode: 'write' })
  try {
    await openVersions(db)
    // SQLite would create a file that others can read, but it also copies into an empty one.
    await writeFile(copy, '', { mode: 0o600 })
    db.run('VACUUM INTO ?', copy)
  } catch (error) {
    await closeOpened()
    throw error
  } finally {
    db.close()
  }
  try {
    await writeFile(join(staging, 'secret'), secretText(readSecrets(dataFolder)), { mode: 0o600 })
    return await openStaged(staging, [], async copied => {
      if (!(await openVersions(copied))) throw new VersionGone()
      const versions = versionsIn(copied)
      // Closes versions that were replaced between the two reads.
      for (const [version, file] of opened) if (!versions.includes(version)) await file.close()
      return versions.map(version => ({ path: entityPath(version), file: opened.get(version) }))
    })
  } catch (error) {
    await closeOpened()
    if (error instanceof VersionGone) return undefined
    throw error
  }
}

class VersionGone extends Error {}

/** The versions of all entities, and those that they share records with. */
function versionsIn(db: Database): readonly string[] {
  const versions = db.all<{ version: string }>('SELECT version FROM entity').map(({ version }) => version)
  return [...new Set(versions.flatMap(version => [baseOf(version) ?? version, version]))]
}
