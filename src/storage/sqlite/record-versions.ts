import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { syncToDisk } from '../../lib/durable-names.ts'
import { OutOfDescriptors, StoreUnavailable } from '../../lib/errors.ts'
import { processIdInName } from '../../lib/process-ids.ts'
import { immutableUri, type OpenOptions } from '../../lib/sqlite.ts'
import { isOutOfDescriptors, systemReason } from '../../lib/system-errors.ts'
import type { NewEntity, NewRecords, Revision } from '../entities.ts'
import { type Database, openDatabase } from './driver.ts'

/**
 * The file of one version of an imported entity: each record's JSON by its slot, and the ranks of each field.
 * After it gets its final name it never changes, so it is read without locks (`immutable`).
 *
 * The file of a *revision* (docs/decisions/0019) has only the records that differ from those of another file,
 * its base. It also has the slot of each record. The base of `artworks.1a.2b` is `artworks.1a`.
 */
export function baseOf(version: string): string | undefined {
  const [entity, base, revision] = version.split('.')
  return revision === undefined ? undefined : `${entity}.${base}`
}

/** The files of revisions that are open, which have their bases attached. */
const revisions = new WeakSet<Database>()

/** Opens the file of a version to read it. @throws StoreUnavailable if it isn't the one that was written */
export function openRecords(
  fileOf: (version: string) => string,
  version: string,
  options: Omit<OpenOptions, 'mode'>,
) {
  const base = baseOf(version)
  for (const one of [version, base]) if (one !== undefined) requireRecordFile(fileOf(one))
  const db = openDatabase(fileOf(version), { ...options, mode: 'immutable' })
  if (base === undefined) return db
  try {
    db.run('ATTACH ? AS base', immutableUri(fileOf(base)))
    revisions.add(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Writes the file of a whole version, in turns, so that signals and requests are handled in between.
 * @returns the number of records, their total size and the size of the largest, in bytes
 */
export async function writeRecordFile(
  file: string,
  entity: Pick<NewEntity, 'fields' | 'ranks'>,
  records: NewRecords,
) {
  let written = { count: 0, bytes: 0, largest: 0 }
  await writeFile(file, async db => {
    written = await addRecords(db, 0, records)
    await addRanks(db, entity)
  })
  return written
}

/** Writes the file of a revision. @returns what `writeRecordFile` does, for all slots, and the number of slots */
export async function writeRevisionFile(
  fileOf: (version: string) => string,
  version: string,
  revision: Revision,
) {
  const { of, slots, added } = revision
  const { bytes, largest } = of.source
  const first = of.source.slots ?? of.source.count
  let written = { count: 0, bytes: 0, largest: 0 }
  await writeFile(fileOf(version), async db => {
    if (baseOf(of.source.version) !== undefined) {
      db.exec('COMMIT')
      requireRecordFile(fileOf(of.source.version))
      db.run('ATTACH ? AS earlier', immutableUri(fileOf(of.source.version)))
      db.exec('BEGIN')
      db.exec('INSERT INTO record SELECT n, json FROM earlier.record ORDER BY n')
    }
    written = await addRecords(db, first, added)
    await addRanks(db, revision)
    db.exec('CREATE TABLE slot (slots BLOB NOT NULL) STRICT')
    db.run('INSERT INTO slot VALUES (?)', bytesOf(slots))
  })
  return {
    count: slots.length,
    bytes: bytes + written.bytes,
    largest: Math.max(largest, written.largest),
    slots: first + written.count,
  }
}

/** @param fill writes in a transaction */
async function writeFile(file: string, fill: (db: Database) => Promise<void>): Promise<void> {
  const temporary = `${file}.writing.${processIdInName()}`
  rmSync(temporary, { force: true })
  const db = openDatabase(temporary, { mode: 'write' })
  try {
    // Nothing refers to the file before it is renamed, so a crash leaves only a file to remove.
    db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE')
    db.exec('CREATE TABLE record (n INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT')
    db.exec('CREATE TABLE rank (field INTEGER PRIMARY KEY, ranks BLOB NOT NULL) STRICT')
    db.exec('BEGIN')
    markRecordFile(db, file)
    await fill(db)
    db.exec('COMMIT')
  } catch (error) {
    db.close()
    rmSync(temporary, { force: true })
    throw error
  }
  db.close()
  syncToDisk(temporary)
  renameSync(temporary, file)
  syncToDisk(dirname(file))
}

/** @param first the slot of the first record */
async function addRecords(db: Database, first: number, records: NewRecords) {
  const several = db.prepare(`INSERT INTO record VALUES ${Array(rowsAtOnce).fill('(?, ?)').join()}`)
  const one = db.prepare('INSERT INTO record VALUES (?, ?)')
  const written = { count: 0, bytes: 0, largest: 0 }
  let rows: (number | string)[] = []
  for await (const batch of Symbol.asyncIterator in records ? records : [records])
    for (const json of batch) {
      rows.push(first + written.count++, json)
      const size = Buffer.byteLength(json)
      written.bytes += size
      written.largest = Math.max(written.largest, size)
      if (rows.length === 2 * rowsAtOnce) {
        several.run(...rows)
        rows = []
      }
      if (written.count % recordsInTurn === 0) await turn()
    }
  for (let at = 0; at < rows.length; at += 2) one.run(rows[at] as number, rows[at + 1] as string)
  return written
}

async function addRanks(db: Database, { fields, ranks }: Pick<NewEntity, 'fields' | 'ranks'>): Promise<void> {
  for (const field of fields.keys()) {
    await turn()
    db.run('INSERT INTO rank VALUES (?, ?)', field, bytesOf(await ranks(field)))
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array) =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** Number of records per statement (each by itself takes two thirds longer), and per turn of the event loop. */
const rowsAtOnce = 16
const recordsInTurn = 5_000

/**
 * Records in these slots, in this order, joined. CAST avoids a detour through a JavaScript string. CROSS JOIN
 * keeps the order of SQLite's loops (https://sqlite.org/lang_select.html#crossjoin), so no sort is needed.
 */
export function recordsNumbered(db: Database, slots: Uint32Array, separator: string) {
  const select = revisions.has(db)
    ? `SELECT coalesce((SELECT json FROM base.record WHERE n = wanted.value),
         (SELECT json FROM main.record WHERE n = wanted.value)) json FROM json_each(?) wanted`
    : 'SELECT r.json FROM json_each(?) wanted CROSS JOIN record r ON r.n = wanted.value'
  return blob(
    db.get(
      `SELECT CAST(group_concat(json, ?) AS BLOB) json FROM (${select})`,
      separator,
      `[${slots.join()}]`,
    ),
  )
}

/** The slots of the records of a revision, in the order of the key. */
export function slotsIn(db: Database): Uint32Array<ArrayBuffer> | undefined {
  if (!revisions.has(db)) return undefined
  const row = db.get<{ slots: Uint8Array<ArrayBuffer> }>('SELECT slots FROM slot')
  return row && new Uint32Array(row.slots.buffer, row.slots.byteOffset, row.slots.byteLength / 4)
}

/** The number of slots of a whole version. */
export const slotCount = (db: Database): number =>
  (db.get<{ last: number | null }>('SELECT max(n) AS last FROM record')?.last ?? -1) + 1

/** The ranks of a field, by the numbers of the records. */
export function ranksIn(db: Database, field: number): Uint32Array<ArrayBuffer> {
  const row = db.get<{ ranks: Uint8Array<ArrayBuffer> }>('SELECT ranks FROM main.rank WHERE field = ?', field)
  if (!row) throw new Error(`field ${field} has no ranks`)
  return new Uint32Array(row.ranks.buffer, row.ranks.byteOffset, row.ranks.byteLength / 4)
}

/** Reads single records by their slots. */
export function recordReader(db: Database): (slot: number) => string {
  const statement = db.prepare(
    revisions.has(db)
      ? 'SELECT coalesce((SELECT json FROM base.record WHERE n = ?1), (SELECT json FROM main.record WHERE n = ?1))'
      : 'SELECT json FROM record WHERE n = ?1',
  )
  return slot => {
    const [json] = statement.get(slot) ?? []
    if (typeof json !== 'string') throw new Error(`there is no record in slot ${slot}`)
    return json
  }
}

/** All records in the order of the key. */
export function* recordsInOrder(db: Database): Iterable<string> {
  const slots = slotsIn(db)
  if (slots === undefined) {
    for (const [json] of db.iterate('SELECT json FROM record ORDER BY n')) yield json as string
    return
  }
  const read = recordReader(db)
  for (const slot of slots) yield read(slot)
}

/** The records in a range of slots without its end, joined. */
export function recordsBetween(db: Database, from: number, end: number, separator: string) {
  const records = revisions.has(db)
    ? '(SELECT * FROM base.record UNION ALL SELECT * FROM main.record)'
    : 'record'
  return blob(
    db.get(
      `SELECT CAST(group_concat(json, ?) AS BLOB) json FROM (SELECT json FROM ${records} WHERE n >= ? AND n < ? ORDER BY n)`,
      separator,
      from,
      end,
    ),
  )
}

const blob = (row: { json?: unknown } | undefined): Uint8Array<ArrayBuffer> =>
  (row?.json as Uint8Array<ArrayBuffer> | null | undefined) ?? new Uint8Array()

/**
 * A mark, made from the version's name, that shows if the file of a version is the one that was written. It
 * is stored in the two header numbers for programs (https://sqlite.org/fileformat2.html, offsets 60 and 68),
 * which are zero in older files.
 */
const markOf = (file: string): readonly [number, number] => {
  const digest = createHash('sha256').update(basename(file, '.db')).digest()
  return [digest.readInt32BE(0), digest.readInt32BE(4)]
}

/** Writes the mark of the final name, in a transaction. */
function markRecordFile(db: Database, file: string): void {
  const [version, application] = markOf(file)
  db.exec(`PRAGMA user_version = ${version}; PRAGMA application_id = ${application}`)
}

/** Length in bytes of the header of a database (https://sqlite.org/fileformat2.html, section 1.3). */
const headerLength = 100

/**
 * Checks the header and the size of the file of a version. The file never changes, and is read without locks,
 * so it can be opened and closed.
 * @throws StoreUnavailable saying what is wrong and what to do
 */
function requireRecordFile(file: string): void {
  const header = Buffer.alloc(headerLength)
  let size: number
  try {
    size = statSync(file).size
    const descriptor = openSync(file, 'r')
    try {
      readSync(descriptor, header, 0, headerLength, 0)
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    if (isOutOfDescriptors(cause)) throw new OutOfDescriptors(String(systemReason(cause)), { cause })
    throw unreadable(file, `can't be read: ${systemReason(cause) ?? String(cause)}`, cause)
  }
  const page = header.readUInt16BE(16)
  if (
    header.toString('latin1', 0, 16) !== 'SQLite format 3\0' ||
    size !== header.readUInt32BE(28) * (page === 1 ? 65_536 : page)
  )
    throw unreadable(file, 'is cut short or was written over')
  const found = [header.readInt32BE(60), header.readInt32BE(68)]
  const isMarked = found.some(number => number !== 0)
  if (isMarked && markOf(file).some((number, at) => number !== found[at]))
    throw unreadable(file, 'has the records of another version')
}

export const unreadable = (file: string, what: string, cause?: unknown): StoreUnavailable =>
  new StoreUnavailable(
    `${basename(file)} in ${dirname(file)} ${what}: put the file back, restore a backup, or import the records of ` +
      `${basename(file).split('.')[0]} again`,
    cause === undefined ? undefined : { cause },
  )
