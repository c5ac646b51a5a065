import { createHash, randomBytes } from 'node:crypto'
import { OperatorError, StoreUnavailable } from '../../lib/errors.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { keyringOf } from '../../model/keys.ts'
import { descriptionOf } from '../../model/relations.ts'
import type { RecordEntity } from '../entities.ts'
import { sealingKey } from '../postgres/chains.ts'
import { type Connection, connect } from '../postgres/driver.ts'
import { recordEvent } from '../postgres/events.ts'
import { createSchema, hasSchema, openMigrated } from '../postgres/migrate.ts'
import { perform, withConnection } from '../postgres/perform.ts'
import { bytesOf, inChunks, partLength, recordTable, writeVersion } from '../postgres/record-versions.ts'
import { inSteps } from '../postgres/trail.ts'
import { copiedTables } from '../schema.ts'
import { clock } from '../statements/clock.ts'
import { loadKey } from '../statements/trail.ts'
import {
  CopyError,
  type Dump,
  type DumpedEntity,
  type DumpedTable,
  type DumpedValue,
  openDump,
  rowsAtOnce,
} from './dump.ts'

/** A part that was copied and read back: its rows and their SHA-256, the same on both sides. */
export interface Loaded {
  readonly part: string
  readonly rows: number
  readonly sha256: string
}

/** @param part the part that is being copied @param share how much of it is done, 0 to 1 */
type LoadProgress = (part: string, share: number) => void

/** The maximum number of rows that are read back at a time. */
const maxRows = 10_000
/** Number of rows between two reports of progress. */
const progressStep = 10_000

/**
 * Copies a whole embedded store to an empty database, in one transaction: after a failure it is still empty.
 * @param tokenSecrets CARREL_TOKEN_SECRET, newest first
 * @throws CopyError if the database is not empty, other data arrived than was sent, or the store changed
 */
export async function copyToPostgres(
  url: string,
  dump: Dump,
  tokenSecrets: readonly string[],
  event: AuditEvent,
  progress: LoadProgress,
): Promise<readonly Loaded[]> {
  const keyring = keyringOf(tokenSecrets, () => dump.secrets.map(({ secret }) => secret).toReversed())
  const options = { url, statementTimeout: 0, queryTimeout: 0, setup: '', key: sealingKey() }
  const { db } = await openMigrated(options, true)
  try {
    await db.exec('BEGIN')
    await refuseUsed(db)
    // A new store has these; the copy brings its own.
    const filled = copiedTables.filter(({ startsFilled }) => startsFilled).toReversed()
    await db.exec(['secret', ...filled.map(({ name }) => name)].map(name => `DELETE FROM ${name};`).join(' '))
    const loaded = await loadDump(db, dump, progress)
    if (dump.hasChanged())
      throw new CopyError('the store changed while it was being copied; stop the service and copy again')
    // The trail says which store this is a copy of; until the copy is finished, that owns the file folder.
    await perform(db, loadKey(keyring()))
    await recordEvent(db, { ...event, object: dump.storeId })
    await db.exec('COMMIT')
    return loaded
  } finally {
    // Without COMMIT, everything is rolled back.
    await db.close()
  }
}

/** Copies everything into the tables of a schema, which are empty, in the current transaction. */
async function loadDump(db: Connection, dump: Dump, progress: LoadProgress): Promise<readonly Loaded[]> {
  const loaded: Loaded[] = []
  for (const table of dump.tables) loaded.push(await loadTable(db, table, progress))
  for (const { secret, made } of dump.secrets)
    await db.run('INSERT INTO secret (secret, made) VALUES ($1, $2)', secret, Date.parse(made))
  for (const entity of dump.entities) loaded.push(await loadEntity(db, entity, progress))
  await perform(db, clock.changes.raise(dump.mark, 0))
  await continueSequences(db)
  return loaded
}

async function refuseUsed(db: Connection): Promise<void> {
  // Nodes that start on the database now wait here, and then see what was copied.
  await db.run('UPDATE state SET entities = entities + 1, secrets = secrets + 1')
  for (const name of ['entity', ...copiedTables.flatMap(one => (one.startsFilled ? [] : one.name))]) {
    const [found] = await db.rows(`SELECT 1 FROM ${name} LIMIT 1`)
    if (found)
      throw new CopyError(
        `the database is not empty: it has rows in the table ${name}; copy into a new database`,
      )
  }
}

async function loadTable(db: Connection, table: DumpedTable, progress: LoadProgress): Promise<Loaded> {
  const { name, columns, select, count } = table
  const sent = createHash('sha256')
  let rows = 0
  let largest = 0
  function* lines() {
    for (const row of table.rows()) {
      const line = `${row.map(copyValue).join('\t')}\n`
      sent.update(line)
      largest = Math.max(largest, Buffer.byteLength(line))
      if (++rows % progressStep === 0) progress(name, rows / count / 2)
      yield line
    }
  }
  await db.copyIn(`${name} (${columns.join(', ')})`, inChunks(lines()))

  const step = rowsAtOnce(largest, maxRows)
  const arrived = createHash('sha256')
  let back = 0
  for await (const some of inSteps<Record<string, DumpedValue>>(db, 'copied', step, select)) {
    for (const row of some)
      arrived.update(`${columns.map(column => copyValue(row[column] ?? null)).join('\t')}\n`)
    back += some.length
    progress(name, 0.5 + back / count / 2)
  }
  return same(name, { rows, sha256: sent.digest('hex') }, { rows: back, sha256: arrived.digest('hex') })
}

async function loadEntity(db: Connection, dumped: DumpedEntity, progress: LoadProgress): Promise<Loaded> {
  const { entity } = dumped
  const { name, key, read, fields } = entity
  const { count, imported = '' } = entity.source
  const version = randomBytes(16).toString('hex')
  const sent = createHash('sha256')
  function* records() {
    let n = 0
    for (const json of dumped.records()) {
      sent.update(json).update('\n')
      if (++n % progressStep === 0) progress(name, n / count / 2)
      yield json
    }
  }
  function ranks(field: number) {
    const column = dumped.ranks(field)
    sent.update(bytesOf(column))
    return column
  }
  try {
    const written = await writeVersion(db, { version, fields: fields.length, ranks, records: records() })
    const source = { kind: 'records', version, ...written, imported }
    const definition = { key, read, fields, source, ...descriptionOf(entity) }
    await db.run(
      'INSERT INTO entity (name, definition, version, changed) VALUES ($1, $2, $3, $4)',
      name,
      JSON.stringify(definition),
      version,
      new Date().toISOString(),
    )
    const step = rowsAtOnce(written.largest, maxRows)
    const arrived = await readBack(db, entity, version, step, progress)
    return same(name, { rows: count, sha256: sent.digest('hex') }, arrived)
  } finally {
    dumped.close()
  }
}

async function readBack(
  db: Connection,
  { name, fields, source: { count } }: RecordEntity,
  version: string,
  step: number,
  progress: LoadProgress,
): Promise<Omit<Loaded, 'part'>> {
  const arrived = createHash('sha256')
  const sql = `SELECT json FROM ${recordTable(version)} WHERE n >= $1 AND n < $2 ORDER BY n`
  let rows = 0
  for (let from = 0; from < count; from += step) {
    const some = await db.rows<{ json: string }>(sql, from, from + step)
    for (const { json } of some) arrived.update(json).update('\n')
    rows += some.length
    progress(name, 0.5 + rows / count / 2)
  }
  for (let field = 0; field < fields.length; field++)
    for (let part = 0; part * partLength < count; part++) {
      const sqlOfPart = 'SELECT ranks FROM rank WHERE version = $1 AND field = $2 AND part = $3'
      const [row] = await db.rows<{ ranks: Uint8Array }>(sqlOfPart, version, field, part)
      if (row) arrived.update(row.ranks)
    }
  return { rows, sha256: arrived.digest('hex') }
}

function same(part: string, sent: Omit<Loaded, 'part'>, arrived: Omit<Loaded, 'part'>): Loaded {
  if (sent.rows !== arrived.rows || sent.sha256 !== arrived.sha256)
    throw new CopyError(
      `${part}: ${sent.rows} rows were sent and ${arrived.rows} arrived, or their contents differ; nothing was kept`,
    )
  return { part, ...arrived }
}

/** New stamps and ids continue after those that were copied. */
async function continueSequences(db: Connection): Promise<void> {
  await db.exec(`
    UPDATE state SET audiences = coalesce((SELECT max(id) FROM audience), 0);
    SELECT setval('record_number', greatest((SELECT max(seq) FROM record_change), 1));
    SELECT setval('stamp', greatest((SELECT max(greatest(stamp, password_stamp)) FROM eperson), 1));
    ${numbered.map(continued).join('')}
    SELECT setval(pg_get_serial_sequence('event', 'id'), greatest((SELECT max(id) FROM event),
      (SELECT max(event) FROM trail_head), 1))`)
}

/** Tables whose ids the database assigns. Those of events go on after the ones that were pruned. */
const numbered = copiedTables
  .filter(({ name, columns }) => columns.id?.isNumbered && name !== 'event')
  .map(({ name }) => name)
const continued = (table: string) =>
  `SELECT setval(pg_get_serial_sequence('${table}', 'id'), greatest((SELECT max(id) FROM ${table}), 1));`

/** A value in the text format of COPY (https://www.postgresql.org/docs/current/sql-copy.html). */
function copyValue(value: DumpedValue): string {
  if (value === null) return '\\N'
  if (value instanceof Uint8Array) return `\\\\x${Buffer.from(value).toString('hex')}`
  if (typeof value !== 'string') return String(value)
  if (value.includes('\0'))
    throw new StoreUnavailable(
      'PostgreSQL cannot store text with a NUL character, and the store has one; remove it first',
    )
  return value.replace(/[\\\t\n\r]/g, one => escapes[one] ?? one)
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

/** True if the database has a store. */
export const hasStore = (url: string): Promise<boolean> => connected(url, hasSchema)

/** A second restore may have been as fast as this one. */
const alreadyThere = () => new OperatorError('the database has got a store meanwhile; nothing was restored')

/**
 * Loads the store of a folder into a database without one, in one transaction: wholly or not at all.
 * @throws OperatorError if the database has a store
 */
export async function loadIntoEmpty(url: string, folder: string, progress: LoadProgress): Promise<void> {
  const dump = openDump(folder)
  try {
    await connected(url, async db => {
      await db.exec('BEGIN')
      if (await hasSchema(db)) throw alreadyThere()
      await createSchema(db)
      await loadDump(db, dump, progress)
      await db.exec('COMMIT')
    })
  } finally {
    dump.close()
  }
}

/** Works on a connection without time limits. */
const connected = <T>(url: string, work: (db: Connection) => Promise<T>): Promise<T> =>
  withConnection(() => connect({ url, statementTimeout: 0, queryTimeout: 0, setup: '' }), work)
