import type { Awaitable } from '../../lib/awaitable.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import type { NewRecords, RecordEntity, Revision } from '../entities.ts'
import { quoteName } from '../tables/cells.ts'
import type { Connection, Queries } from './driver.ts'

/**
 * The table of a version of an imported entity: each record's JSON by its slot. Its rows never change after
 * they are written, so a listing needs no snapshot, and holds no connection while a slow client reads.
 *
 * A *revision* (docs/decisions/0019) adds rows to the table of another version, its base, and has slots as
 * well as ranks. The base of `1a.2b` is `1a`.
 */
export const recordTable = (version: string): string => quoteName(`records.${baseOf(version)}`)

export const baseOf = (version: string): string => version.replace(/\..*/, '')

/** The field number under which the table of ranks keeps the slots of a revision. */
export const slotsField = -1

/** Ranks are stored in parts of this many records. */
export const partLength = 256 * 1024

/** The content of a version. An entity refers to it only after it is written. */
interface VersionContent {
  readonly version: string
  /** Number of fields that have ranks. */
  readonly fields: number
  ranks(field: number): Awaitable<Uint32Array>
  /** Each record's JSON, in the order of the key. */
  readonly records: NewRecords
}

/**
 * Writes a version in the current transaction of `db`.
 * @returns the number of records, their total size and the size of the largest, in bytes
 */
export async function writeVersion(
  db: Connection,
  { version, fields, ranks, records }: VersionContent,
): Promise<{ count: number; bytes: number; largest: number }> {
  const table = recordTable(version)
  await db.exec(`CREATE TABLE ${table} (n INTEGER NOT NULL, json TEXT NOT NULL)`)
  const written = await addRecords(db, version, 0, records)
  await db.exec(`ALTER TABLE ${table} ADD PRIMARY KEY (n)`)
  for (let field = 0; field < fields; field++) await addColumn(db, version, field, await ranks(field))
  return written
}

/**
 * Writes a revision in the current transaction of `db`. No other revision of the entity may be written
 * meanwhile.
 * @returns what `writeVersion` does, for all slots, and the number of slots
 */
export async function writeRevision(db: Connection, version: string, revision: Revision) {
  const { of, slots, added, fields, ranks } = revision
  const { bytes, largest, count } = of.source
  const first = of.source.slots ?? count
  const written = await addRecords(db, version, first, added)
  for (const field of fields.keys()) await addColumn(db, version, field, await ranks(field))
  await addColumn(db, version, slotsField, slots)
  return {
    count: slots.length,
    bytes: bytes + written.bytes,
    largest: Math.max(largest, written.largest),
    slots: first + written.count,
  }
}

/** @param first the slot of the first record */
async function addRecords(db: Connection, version: string, first: number, records: NewRecords) {
  const written = { count: 0, bytes: 0, largest: 0 }
  function* lines(some: Iterable<string>) {
    for (const json of some) {
      const size = Buffer.byteLength(json)
      // JSON has no line breaks or tabs except as escapes, so only backslashes must be escaped for COPY.
      yield `${first + written.count}\t${json.replaceAll('\\', '\\\\')}\n`
      written.count++
      written.bytes += size
      written.largest = Math.max(written.largest, size)
    }
  }
  async function* chunks(batches: AsyncIterable<readonly string[]>) {
    for await (const some of batches) yield* inChunks(lines(some))
  }
  await db.copyIn(
    recordTable(version),
    Symbol.asyncIterator in records ? chunks(records) : inChunks(lines(records)),
  )
  return written
}

async function addColumn(db: Connection, version: string, field: number, column: Uint32Array): Promise<void> {
  for (let part = 0; part * partLength < column.length; part++)
    await db.run(
      'INSERT INTO rank VALUES ($1, $2, $3, $4)',
      version,
      field,
      part,
      bytesOf(column.slice(part * partLength, (part + 1) * partLength)),
    )
}

/** @returns the ranks of a field, or the slots, by the numbers of the records */
export async function readColumn(
  db: Queries,
  { version, count }: RecordEntity['source'],
  field: number,
): Promise<Uint32Array<ArrayBuffer>> {
  const rows = await db.rows<{ ranks: Uint8Array }>(
    'SELECT ranks FROM rank WHERE version = $1 AND field = $2 ORDER BY part',
    version,
    field,
  )
  // A lagging replica has the table of ranks, but not yet these rows.
  if (rows.length < Math.ceil(count / partLength))
    throw new StoreUnavailable(`field ${field} has no ranks yet`)
  const column = new Uint32Array(count)
  const bytes = new Uint8Array(column.buffer)
  for (const [part, row] of rows.entries())
    bytes.set(row.ranks, part * partLength * Uint32Array.BYTES_PER_ELEMENT)
  return column
}

/** @returns the JSON of the records in these slots, in this order */
export async function readRecords(db: Queries, version: string, slots: Uint32Array): Promise<string[]> {
  const rows = await db.rows<{ json: string }>(
    `SELECT r.json FROM unnest($1::integer[]) WITH ORDINALITY AS wanted (n, at)
     JOIN ${recordTable(version)} r ON r.n = wanted.n ORDER BY at`,
    [...slots],
  )
  // A lagging replica may have the table, but not yet the rows of a revision.
  if (rows.length < slots.length) throw new StoreUnavailable('some records are not there yet')
  return rows.map(row => row.json)
}

/** The minimum length of a chunk that is sent, in characters. */
const chunkLength = 64 * 1024

export function* inChunks(lines: Iterable<string>): Iterable<string> {
  let chunk = ''
  for (const line of lines) {
    chunk += line
    if (chunk.length < chunkLength) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

export const bytesOf = (ranks: Uint32Array) => Buffer.from(ranks.buffer, ranks.byteOffset, ranks.byteLength)
