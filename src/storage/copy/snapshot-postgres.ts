import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../lib/durable-names.ts'
import type { Entity } from '../../model/entities.ts'
import { sortRecords } from '../columns/sort-records.ts'
import type { RecordEntity } from '../entities.ts'
import { type Connection, connect } from '../postgres/driver.ts'
import { withConnection } from '../postgres/perform.ts'
import { readColumn, readRecords, recordTable, slotsField } from '../postgres/record-versions.ts'
import { inSteps } from '../postgres/trail.ts'
import type { Table } from '../schema/table.ts'
import { copiedTables } from '../schema.ts'
import { type Database, openDatabase, transaction } from '../sqlite/driver.ts'
import { createIn, databaseFile, entitiesFolder } from '../sqlite/migrate.ts'
import { writeRecordFile } from '../sqlite/record-versions.ts'
import { secretText } from '../sqlite/secrets.ts'
import { definitionOf, type EntityRow, isImported, toEntity } from '../statements/entity-rows.ts'
import { copiedColumns, type DumpedValue, rowsAtOnce } from './dump.ts'
import { type ExposedEntity, entityPath, openStaged, type Snapshot, type TakeSnapshot } from './snapshot.ts'

/** The maximum number of rows and of records that are read at a time. */
const maxRows = 1_000
const maxRecords = 5_000

/**
 * Snapshots of a store on PostgreSQL, written as an embedded store. One read-only transaction with one
 * snapshot (https://www.postgresql.org/docs/current/transaction-iso.html#XACT-REPEATABLE-READ) reads all of
 * it, while any number of nodes change it.
 */
export const snapshotsOfPostgres =
  (url: string): TakeSnapshot =>
  (staging, known, progress) =>
    withConnection(
      () => connect({ url, statementTimeout: 0, queryTimeout: 0, setup: '' }),
      db => copyStore(db, staging, known, progress),
    )

async function copyStore(
  db: Connection,
  ...[staging, known, progress]: Parameters<TakeSnapshot>
): Promise<Snapshot> {
  await db.exec('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const entities = await lockedEntities(db)
  const copy = openDatabase(databaseFile(staging), { mode: 'write' })
  try {
    copy.exec('PRAGMA synchronous = OFF')
    transaction(copy, () => createIn(copy))
    for (const table of copiedTables) await copyTable(db, copy, table, progress)
    await copyState(db, copy)
    transaction(copy, () => {
      for (const { entity, changed } of entities) if (isImported(entity)) addEntity(copy, entity, changed)
    })
    // One file, without a log beside it.
    copy.exec('PRAGMA journal_mode = DELETE')
  } finally {
    copy.close()
  }
  const secrets = await db.rows<{ secret: Uint8Array; made: number }>(
    'SELECT secret, made FROM secret ORDER BY id DESC',
  )
  const lines = secrets.map(({ secret, made }) => ({ secret, made: new Date(made).toISOString() }))
  await writeFile(join(staging, 'secret'), secretText(lines), { mode: 0o600 })
  makeFolder(entitiesFolder(staging))
  for (const { entity } of entities)
    if (isImported(entity) && !known.has(entityPath(versionOf(entity))))
      await copyRecords(db, entity, staging, progress)
  const exposed = entities.flatMap(({ entity }) => exposedIn(entity))
  return openStaged(staging, exposed, async copied => {
    const paths = copied
      .all<{ version: string }>('SELECT version FROM entity')
      .map(({ version }) => entityPath(version))
    const files = []
    for (const path of paths)
      files.push({ path, file: known.has(path) ? undefined : await open(join(staging, path)) })
    return files
  })
}

/** Locks the records of all entities, so that no node removes those of a version that is replaced. */
async function lockedEntities(db: Connection) {
  const rows = await db.rows<EntityRow & { changed: string }>(
    'SELECT name, definition, changed FROM entity ORDER BY name',
  )
  const entities = rows.map(({ changed, ...row }) => ({ entity: toEntity(row), changed }))
  for (const { entity } of entities)
    if (isImported(entity))
      await db.exec(`LOCK TABLE ${recordTable(entity.source.version)} IN ACCESS SHARE MODE`)
  return entities
}

/** The version in the copy, which is stored as a whole: it has no base. */
const versionOf = ({ name, source }: RecordEntity) => `${name}.${source.version.replace('.', '-')}`

async function copyTable(
  db: Connection,
  copy: Database,
  table: Table,
  progress: (part: string, share: number) => void,
): Promise<void> {
  const { name } = table
  const { columns: names, select } = copiedColumns(table)
  const insert = copy.prepare(
    `INSERT INTO ${name} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  )
  // The length of a long text is known without reading it.
  const size = names.map(column => `coalesce(octet_length(CAST(${column} AS TEXT)), 0)`).join(' + ')
  const [{ count, largest } = { count: 0, largest: 0 }] = await db.rows<{ count: number; largest: number }>(
    `SELECT count(*) AS count, coalesce(max(${size}), 0) AS largest FROM ${name}`,
  )
  const step = rowsAtOnce(largest, maxRows)
  let done = 0
  for await (const rows of inSteps<Record<string, DumpedValue>>(db, 'saved', step, select)) {
    transaction(copy, () => {
      for (const row of rows) insert.run(...names.map(column => row[column] ?? null))
    })
    done += rows.length
    progress(name, done / count)
  }
}

type State = { readonly store: string } & Readonly<Record<'mark' | 'records' | 'audiences' | 'stamp', number>>

/** Copies the id of the store, and the values from which its stamps, ids and time go on. */
async function copyState(db: Connection, copy: Database): Promise<void> {
  const [state = { store: '', mark: 0, records: 0, audiences: 0, stamp: 0 }] = await db.rows<State>(
    `SELECT store, mark, audiences, (SELECT last_value FROM record_number) AS records,
       (SELECT last_value FROM stamp) AS stamp FROM state`,
  )
  const { store, mark, records, audiences, stamp } = state
  const sql = 'UPDATE state SET store = ?, mark = ?, records = ?, audiences = ?'
  copy.run(sql, store, mark, records, audiences)
  copy.run('UPDATE stamp SET last = ?', stamp)
}

function addEntity(copy: Database, entity: RecordEntity, changed: string): void {
  const version = versionOf(entity)
  const { slots: _, ...source } = { ...entity.source, version, imported: entity.source.imported ?? changed }
  const sql = 'INSERT INTO entity (name, definition, version, changed) VALUES (?, ?, ?, ?)'
  copy.run(sql, entity.name, definitionOf({ ...entity, source }), version, changed)
}

async function copyRecords(
  db: Connection,
  entity: RecordEntity,
  staging: string,
  progress: (part: string, share: number) => void,
): Promise<void> {
  const { source, fields, name } = entity
  const slots =
    source.slots === undefined ? sortRecords(source.count, []) : await readColumn(db, source, slotsField)
  const step = rowsAtOnce(source.largest, maxRecords)
  async function* batches() {
    for (let from = 0; from < source.count; from += step) {
      yield await readRecords(db, source.version, slots.subarray(from, from + step))
      progress(name, Math.min(1, (from + step) / source.count))
    }
  }
  await writeRecordFile(
    join(staging, entityPath(versionOf(entity))),
    { fields, ranks: field => readColumn(db, source, field) },
    batches(),
  )
}

function exposedIn({ name, key, read, fields, source }: Entity): readonly ExposedEntity[] {
  if (source.kind !== 'exposed') return []
  const { schema, table } = source
  return [{ name, schema, table, key, fields: fields.map(field => field.name), read }]
}
