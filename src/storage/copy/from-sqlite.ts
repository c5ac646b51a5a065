import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, openDatabase } from '../sqlite/driver.ts'
import { migrate } from '../sqlite/migrations.ts'
import { readSecrets } from '../sqlite/secrets.ts'
import { type Field, type ReadRule, StoreUnavailable } from '../storage.ts'

/** Everything that an embedded store holds, of one moment, to be carried over into another engine. */
export interface Dump {
  readonly tables: readonly DumpedTable[]
  /** The copy is this store from now on, to which the folder of files belongs. */
  readonly storeId: string
  /** Oldest first. */
  readonly secrets: readonly { readonly secret: Uint8Array; readonly made: string }[]
  readonly entities: readonly DumpedEntity[]
  /** Whether somebody has changed the store since: then the dump is not the whole of it. */
  hasChanged(): boolean
  /** Makes what was dumped from another store, to which no folder of files belongs. */
  becomeAnother(): void
  close(): void
}

/** A copy is not what it was made from; nothing of it was kept. */
export class CopyError extends Error {}

export type DumpedValue = string | number | Uint8Array | null

export interface DumpedTable {
  readonly name: (typeof tables)[number]['name']
  readonly columns: readonly string[]
  /** Columns that say which row it is; rows come in their order. */
  readonly key: readonly string[]
  /** Columns that hold 0 or 1 here. */
  readonly booleans: readonly string[]
  readonly count: number
  rows(): Iterable<readonly DumpedValue[]>
}

export interface DumpedEntity {
  readonly name: string
  readonly key: string
  readonly read: ReadRule
  readonly fields: readonly Field[]
  readonly version: string
  readonly count: number
  records(): Iterable<string>
  ranks(field: number): Uint32Array
  close(): void
}

const tables = [
  {
    name: 'eperson',
    key: ['uuid'],
    columns:
      'uuid email email_key first_name last_name enabled password_hash password_stamp session_key stamp created last_login',
    booleans: ['enabled'],
  },
  { name: 'epersongroup', key: ['uuid'], columns: 'uuid name created', booleans: [] },
  { name: 'membership', key: ['eperson', 'epersongroup'], columns: 'eperson epersongroup', booleans: [] },
  {
    name: 'identity',
    key: ['provider', 'subject'],
    columns: 'provider subject eperson linked',
    booleans: [],
  },
  {
    name: 'provider_session',
    key: ['id'],
    columns: 'id eperson provider name sid detail begun',
    booleans: [],
  },
  {
    name: 'event',
    key: ['id'],
    columns: 'id time event outcome eperson actor client_ip method object reason',
    booleans: [],
  },
  // How many rows each has is counted anew, as they come.
  { name: 'audience', key: ['id'], columns: 'id readers', booleans: [] },
  {
    name: 'item',
    key: ['uuid'],
    columns:
      'uuid identifier title authors issued type metadata collections audience fingerprint created modified',
    booleans: [],
  },
  {
    name: 'bitstream',
    key: ['uuid'],
    columns: 'uuid item bundle name place description mime_type size sha256 audience created',
    booleans: [],
  },
] as const

/** Opens the store in the folder. @throws StoreUnavailable when there is none, or it can't be read */
export function openDump(dataFolder: string): Dump {
  const file = join(dataFolder, 'carrel.db')
  if (!existsSync(file))
    throw new StoreUnavailable(`there is no embedded store in ${dataFolder}; set CARREL_DATA`)
  const migrating = openDatabase(file, { mode: 'write' })
  try {
    migrate(migrating)
  } finally {
    migrating.close()
  }
  const db = openDatabase(file, { mode: 'read' })
  const dataVersion = () => db.get<{ data_version: number }>('PRAGMA data_version')?.data_version
  db.exec('BEGIN')
  // The first read decides which moment it is.
  const counts = tables.map(
    ({ name }) => db.get<{ count: number }>(`SELECT count(*) AS count FROM ${name}`)?.count ?? 0,
  )
  const before = dataVersion()
  const storeId = db.get<{ store: string }>('SELECT store FROM state')?.store ?? ''
  const secrets = readSecrets(dataFolder).toReversed()
  return {
    storeId,
    secrets,
    tables: tables.map(({ name, key, columns, booleans }, at) => ({
      name,
      key,
      columns: columns.split(' '),
      booleans,
      count: counts[at] ?? 0,
      rows: () =>
        db.iterate(
          `SELECT ${columns.replaceAll(' ', ', ')} FROM ${name} ORDER BY ${key.join(', ')}`,
        ) as Iterable<DumpedValue[]>,
    })),
    entities: db
      .all<{ name: string; key: string; read: ReadRule; fields: string; version: string; count: number }>(
        'SELECT name, key, read, fields, version, count FROM entity ORDER BY name',
      )
      .map(({ fields, ...row }) => {
        let records: Database | undefined
        const open = () => {
          records ??= openDatabase(join(dataFolder, 'entities', `${row.version}.db`), { mode: 'immutable' })
          return records
        }
        return {
          ...row,
          fields: JSON.parse(fields) as Field[],
          records: function* () {
            for (const [json] of open().iterate('SELECT json FROM record ORDER BY n')) yield json as string
          },
          ranks: field => {
            const found = open().get<{ ranks: Uint8Array<ArrayBuffer> }>(
              'SELECT ranks FROM rank WHERE field = ?',
              field,
            )
            if (!found) throw new Error(`field ${field} of ${row.name} has no ranks`)
            return new Uint32Array(found.ranks.buffer, found.ranks.byteOffset, row.count)
          },
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
    becomeAnother: () => {
      const writing = openDatabase(file, { mode: 'write' })
      try {
        writing.run('UPDATE state SET store = ?', randomUUID())
      } finally {
        writing.close()
      }
    },
    close: () => db.close(),
  }
}
