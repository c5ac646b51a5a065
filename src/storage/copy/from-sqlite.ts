import { join } from 'node:path'
import { StoreUnavailable } from '../../model/errors.ts'
import { descriptionOf } from '../../model/relations.ts'
import { madeBefore } from '../schema.ts'
import { type Database, openDatabase } from '../sqlite/driver.ts'
import { databaseFile, isOfNow, requireStore } from '../sqlite/migrate.ts'
import { perform } from '../sqlite/perform.ts'
import { openRecords, ranksIn, recordsInOrder } from '../sqlite/record-versions.ts'
import { migrations } from '../sqlite/schema.ts'
import { readSecrets } from '../sqlite/secrets.ts'
import { importedEntities } from '../statements/entity-rows.ts'
import { columnsOf, type Dump, type DumpedValue, tables } from './dump.ts'

/**
 * Opens the store in the folder, read-only: nothing of it is changed, not even its schema.
 * @throws StoreUnavailable if there is none, it can't be read, or it has another schema than this Carrel
 */
export function openDump(dataFolder: string): Dump {
  requireStore(dataFolder)
  const file = databaseFile(dataFolder)
  const db = openDatabase(file, { mode: 'read' })
  try {
    checkSchema(db, dataFolder)
    return dump(db, dataFolder)
  } catch (error) {
    db.close()
    throw error
  }
}

function checkSchema(db: Database, dataFolder: string): void {
  const version = db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
  if (version === 0) throw new StoreUnavailable(`no store in ${dataFolder}; set CARREL_DATA`)
  if (!isOfNow(db)) throw madeBefore(dataFolder)
  if (version === migrations.length) return
  throw new StoreUnavailable(
    `the store in ${dataFolder} has schema version ${version}, and this Carrel copies version ${migrations.length}; ${
      version < migrations.length
        ? 'any other command updates it, such as `carrel eperson list` (make a backup first)'
        : 'use a newer Carrel'
    }`,
  )
}

function dump(db: Database, dataFolder: string): Dump {
  const dataVersion = () => db.get<{ data_version: number }>('PRAGMA data_version')?.data_version
  db.exec('BEGIN')
  // The first read fixes the moment that is copied.
  const counts = tables.map(
    name => db.get<{ count: number }>(`SELECT count(*) AS count FROM ${name}`)?.count ?? 0,
  )
  const before = dataVersion()
  const { store: storeId = '', mark = 0 } =
    db.get<{ store: string; mark: number }>('SELECT store, mark FROM state') ?? {}
  const secrets = readSecrets(dataFolder).toReversed()
  return {
    storeId,
    mark,
    secrets,
    tables: tables.map((name, at) => {
      const { columns, key } = columnsOf(db, name)
      const sql = `SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`
      return {
        name,
        columns,
        key,
        count: counts[at] ?? 0,
        rows: () => db.iterate(sql) as Iterable<DumpedValue[]>,
      }
    }),
    entities: perform(db, importedEntities()).map(entity => {
      const { name, key, read, fields, source } = entity
      let records: Database | undefined
      const open = () => {
        records ??= openRecords(version => join(dataFolder, 'entities', `${version}.db`), source.version, {})
        return records
      }
      return {
        name,
        key,
        read,
        fields,
        description: descriptionOf(entity),
        version: source.version,
        count: source.count,
        imported: source.imported ?? '',
        records: () => recordsInOrder(open()),
        ranks: field => ranksIn(open(), field),
        close: () => {
          records?.close()
          records = undefined
        },
      }
    }),
    hasChanged: () => {
      db.exec('COMMIT; BEGIN')
      return dataVersion() !== before
    },
    close: () => db.close(),
  }
}
