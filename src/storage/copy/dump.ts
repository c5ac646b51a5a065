import { join } from 'node:path'
import { OperatorError, StoreUnavailable } from '../../lib/errors.ts'
import type { RecordEntity } from '../entities.ts'
import { newestOf } from '../schema.ts'
import { type Database, openDatabase } from '../sqlite/driver.ts'
import { databaseFile, entitiesFolder, requireCarrel, requireStore, versionIn } from '../sqlite/migrate.ts'
import { perform } from '../sqlite/perform.ts'
import { openRecords, ranksIn, recordsInOrder } from '../sqlite/record-versions.ts'
import { schema } from '../sqlite/schema.ts'
import { readSecrets } from '../sqlite/secrets.ts'
import { importedEntities } from '../statements/entity-rows.ts'

/** Everything that an embedded store holds at one moment, to be copied to another engine. */
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

export type DumpedValue = string | number | Uint8Array | null

export interface DumpedTable {
  readonly name: string
  readonly columns: readonly string[]
  /** Columns that identify a row; rows come in their order. */
  readonly key: readonly string[]
  readonly count: number
  rows(): Iterable<readonly DumpedValue[]>
}

export interface DumpedEntity {
  readonly entity: RecordEntity
  records(): Iterable<string>
  ranks(field: number): Uint32Array
  close(): void
}

/**
 * All tables of a store except counts of attempts, claims of contents, single-use tickets, versions of entities that were replaced,
 * the size of the trail, which is measured again, and entities, which are copied with their records. A table
 * comes after those that it refers to. Processes that run meanwhile count as interrupted in the copy, where they have no owner; the chains of the trail go on under
 * the same secrets (docs/decisions/0027).
 */
export const tables = [
  ...['eperson', 'epersongroup', 'subgroup', 'membership', 'identity', 'provider_session', 'session'],
  ...[
    'access_token',
    'factor',
    'recovery_code',
    'familiar_network',
    'event',
    'trail_key',
    'trail_checkpoint',
    'trail_head',
    'audience',
  ],
  ...['item', 'bitstream', 'bundle', 'policy', 'record_change', 'process', 'process_line', 'alert', 'site'],
  ...['metadata_schema', 'metadata_field'],
]

/** Columns that triggers fill in again as rows arrive. */
const counted = new Set(['items', 'bitstreams', 'bytes'])

/** @param db an embedded store: both engines have the same columns */
export function columnsOf(db: Database, table: string): Pick<DumpedTable, 'columns' | 'key'> {
  const all = db.all<{ name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)', table)
  const columns = all.map(({ name }) => name)
  const key = all.filter(({ pk }) => pk > 0).toSorted((one, other) => one.pk - other.pk)
  return {
    columns: table === 'audience' ? columns.filter(name => !counted.has(name)) : columns,
    key: key.map(({ name }) => name),
  }
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
