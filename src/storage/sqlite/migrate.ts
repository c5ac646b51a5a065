import { randomUUID } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../lib/durable-names.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import { newestOf, refusedVersion, stepsFrom } from '../schema.ts'
import { firstRows } from '../statements/first-rows.ts'
import { type Database, openDatabase, transaction } from './driver.ts'
import { perform } from './perform.ts'
import { schema } from './schema.ts'

/** The database of a data folder: everything but records, secrets and files. */
export const databaseFile = (dataFolder: string): string => join(dataFolder, 'carrel.db')
/** The files of imported entities. */
export const entitiesFolder = (dataFolder: string): string => join(dataFolder, 'entities')
/** Facts about their fields (docs/decisions/0070). */
export const fieldsFolder = (dataFolder: string): string => join(dataFolder, 'fields')

/** `Crrl`, which marks a store's database (https://sqlite.org/pragma.html#pragma_application_id). */
const applicationId = 0x4372726c

/** The folder that a backup is restored to before it becomes the store of the data folder. */
export const restoringFolder = 'restoring'

/**
 * Brings the store in the folder to this version's schema. A new store gets its whole database before
 * anything else, so that a start that is killed at any moment leaves either no store or one that opens.
 * @param create true to create a store where there is none
 * @returns true if there was none
 * @throws StoreUnavailable when there is none, its database is lost, or a newer Carrel wrote it; nothing was
 * changed then
 */
export function migrate(dataFolder: string, create: boolean): boolean {
  const file = databaseFile(dataFolder)
  // Read before the database, which a process that is creating this store makes before the others.
  const others = filesBesideDatabase(dataFolder)
  const size = statSync(file, { throwIfNoEntry: false })?.size
  // Opening a database that isn't there would make it.
  if (!size) {
    refuseNew(dataFolder, others, size === undefined ? 'missing' : 'empty', create)
    makeFolder(dataFolder)
  }
  const db = openDatabase(file, { mode: 'write' })
  try {
    if (size) requireCarrel(db, dataFolder)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON')
    if (isCarrels(db) && versionIn(db) === newestOf(schema)) return false
    return transaction(db, () => {
      const from = versionIn(db)
      if (from === 0) refuseNew(dataFolder, others, 'empty', create)
      const refused = refusedVersion(schema, from)
      if (refused !== undefined) throw new StoreUnavailable(`the store in ${dataFolder} ${refused}`)
      migrateFrom(db, from)
      if (from === 0) {
        db.run('UPDATE state SET store = ?', randomUUID())
        perform(db, firstRows())
      }
      return from === 0
    })
  } finally {
    db.close()
  }
}

/** Creates the tables in an empty database, in the transaction of the caller. */
export const createIn = (db: Database): void => migrateFrom(db, 0)

function migrateFrom(db: Database, from: number): void {
  for (const sql of stepsFrom(schema, from)) db.exec(sql)
  db.exec(`PRAGMA user_version = ${newestOf(schema)}; PRAGMA application_id = ${applicationId}`)
}

/**
 * Refuses a folder without a store, and changes nothing.
 * @throws StoreUnavailable when there is none, or its database is lost
 */
export function requireStore(dataFolder: string): void {
  const size = statSync(databaseFile(dataFolder), { throwIfNoEntry: false })?.size
  if (!size)
    refuseNew(dataFolder, filesBesideDatabase(dataFolder), size === undefined ? 'missing' : 'empty', false)
}

/** Files that only an existing store has. A new database would make its records count as unused (D6). */
function filesBesideDatabase(dataFolder: string): readonly string[] {
  const names = (folder: string): readonly string[] =>
    statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : []
  return [
    ...names(dataFolder).filter(name => name === 'secret' || name === restoringFolder),
    ...(names(entitiesFolder(dataFolder)).some(name => name.endsWith('.db')) ? ['entities'] : []),
  ]
}

function refuseNew(
  dataFolder: string,
  others: readonly string[],
  database: 'missing' | 'empty',
  create: boolean,
): void {
  if (others.includes(restoringFolder))
    throw new StoreUnavailable(`a restore into ${dataFolder} was not finished; run \`carrel restore\` again`)
  if (others.length > 0)
    throw new StoreUnavailable(
      `${databaseFile(dataFolder)} is ${database}, but the store's ${others.join(' and ')} ${
        others.length === 1 ? 'is' : 'are'
      } there; restore the database from a backup, or set CARREL_DATA to another folder (nothing was changed)`,
    )
  if (!create) throw new StoreUnavailable(`no store in ${dataFolder}; set CARREL_DATA`)
}

/** @throws StoreUnavailable if another program made the database */
export function requireCarrel(db: Database, dataFolder: string): void {
  // In this order: another program may be creating the store, and the mark comes with the tables.
  if (db.get('SELECT 1 FROM sqlite_schema') && !isCarrels(db))
    throw new StoreUnavailable(
      `${databaseFile(dataFolder)} is not a database of Carrel; set CARREL_DATA to another folder (nothing was changed)`,
    )
}

const isCarrels = (db: Database): boolean =>
  db.get<{ application_id: number }>('PRAGMA application_id')?.application_id === applicationId

/** The version of the store's schema; 0: the database is empty. */
export const versionIn = (db: Database): number =>
  db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
