import { join } from 'node:path'
import { OperatorError, StoreUnavailable } from '../../lib/errors.ts'
import type { RecordEntity } from '../entities.ts'
import { keyOf, type Table } from '../schema/table.ts'
import { copiedTables, newestOf } from '../schema.ts'
import { type Database, openDatabase } from '../sqlite/driver.ts'
import { databaseFile, entitiesFolder, requireCarrel, requireStore, versionIn } from '../sqlite/migrate.ts'
import { perform } from '../sqlite/perform.ts'
import { openRecords, ranksIn, recordsInOrder } from '../sqlite/record-versions.ts'
import { schema } from '../sqlite/schema.ts'
import { readSecrets } from '../sqlite/secrets.ts'
import { importedEntities } from '../statements/entity-rows.ts'

/**
 * Everything that an embedded store holds at one moment, to be copied to another engine. Processes that run meanwhile count as
 * interrupted in the copy, where they have no owner; the chains of the trail go on under the same secrets (docs/decisions/0027).
 */
export interface Dump {
  readonly tables: readonly DumpedTable[]
  /** Id of the store that is copied. The copy has an id of its own (docs/decisions/0016). */
  readonly storeId: string
  /** A time that has certainly been reached, in ms since 1970 (docs/decisions/0024). */
  readonly mark: number
  /** Oldest first. */
  readonly secrets: readonly { readonly secret: Uint8Array; readonly made: string }[]
  readonly entities: readonly DumpedEntity[]
  /** True if the store has changed since, so that the dump is out of date. */
  hasChanged(): boolean
  close(): void
}

/** The copy can't be made, or differs from the store; nothing of it was kept. */
export class CopyError extends OperatorError {}

interface CopiedColumns {
  readonly columns: readonly string[]
  /** SQL that reads them, in the order of the key. */
  readonly select: string
}

/** The columns that a copy has of a table, without those that triggers fill in as rows arrive. */
export function copiedColumns(table: Table): CopiedColumns {
  const { name, columns: all } = table
  const columns = Object.keys(all).filter(column => !all[column]?.isCounted)
  return { columns, select: `SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${keyOf(table).join(', ')}` }
}

export type DumpedValue = string | number | Uint8Array | null

export interface DumpedTable extends CopiedColumns {
  readonly name: string
  readonly count: number
  rows(): Iterable<readonly DumpedValue[]>
}

export interface DumpedEntity {
  readonly entity: RecordEntity
  records(): Iterable<string>
  ranks(field: number): Uint32Array
  close(): void
}

/** Approximate maximum number of bytes that are read at a time. */
const bytesAtOnce = 16e6

/**
 * Number of rows to read at a time, so that memory stays bounded if they are large.
 * @param largest the bytes of the largest row @param most the maximum number of rows
 */
export const rowsAtOnce = (largest: number, most: number): number =>
  Math.max(1, Math.min(most, Math.floor(bytesAtOnce / Math.max(1, largest))))

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
  const version = versionIn(db)
  if (version === 0) throw new StoreUnavailable(`no store in ${dataFolder}; set CARREL_DATA`)
  requireCarrel(db, dataFolder)
  if (version === newestOf(schema)) return
  throw new StoreUnavailable(
    `the store in ${dataFolder} has schema version ${version}, and this Carrel copies version ${newestOf(schema)}; ${
      version < newestOf(schema)
        ? 'any other command updates it, such as `carrel eperson list` (make a backup first)'
        : 'use a newer Carrel'
    }`,
  )
}

function dump(db: Database, dataFolder: string): Dump {
  const dataVersion = () => db.get<{ data_version: number }>('PRAGMA data_version')?.data_version
  db.exec('BEGIN')
  // The first read fixes the moment that is copied.
  const counts = copiedTables.map(
    ({ name }) => db.get<{ count: number }>(`SELECT count(*) AS count FROM ${name}`)?.count ?? 0,
  )
  const before = dataVersion()
  const { store: storeId = '', mark = 0 } =
    db.get<{ store: string; mark: number }>('SELECT store, mark FROM state') ?? {}
  const secrets = readSecrets(dataFolder).toReversed()
  return {
    storeId,
    mark,
    secrets,
    tables: copiedTables.map((table, at) => {
      const copied = copiedColumns(table)
      const rows = () => db.iterate(copied.select) as Iterable<DumpedValue[]>
      return { name: table.name, ...copied, count: counts[at] ?? 0, rows }
    }),
    entities: perform(db, importedEntities()).map(entity => {
      let records: Database | undefined
      const open = () => {
        const fileOf = (version: string) => join(entitiesFolder(dataFolder), `${version}.db`)
        records ??= openRecords(fileOf, entity.source.version, {})
        return records
      }
      return {
        entity,
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
