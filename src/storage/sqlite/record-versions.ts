import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { NewEntity } from '../entities.ts'
import { unpackRecords } from '../shared/loaded-records.ts'
import { type Database, openDatabase } from './driver.ts'

/**
 * The file of one version of an imported entity: each record's JSON by its number, and the ranks of each field. After it
 * gets its final name it never changes, so it is read without locks (`immutable`).
 */

/**
 * Writes in turns, so that signals and requests are handled in between.
 * @returns the number of records, their total size and the size of the largest, in bytes
 */
export async function writeRecordFile(file: string, entity: NewEntity, records: Iterable<string>) {
  const temporary = `${file}.writing`
  rmSync(temporary, { force: true })
  const db = openDatabase(temporary, { mode: 'write' })
  let count = 0
  let bytes = 0
  let largest = 0
  try {
    // Nothing refers to the file before it is renamed, so a crash leaves only a file to remove.
    db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE')
    db.exec('CREATE TABLE record (n INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT')
    db.exec('CREATE TABLE rank (field INTEGER PRIMARY KEY, ranks BLOB NOT NULL) STRICT')
    db.exec('BEGIN')
    const insert = db.prepare('INSERT INTO record VALUES (?, ?)')
    for (const json of records) {
      insert.run(count++, json)
      const size = Buffer.byteLength(json)
      bytes += size
      largest = Math.max(largest, size)
      if (count % recordsInTurn === 0) await turn()
    }
    for (const field of entity.fields.keys()) {
      await turn()
      const ranks = await entity.ranks(field)
      db.run(
        'INSERT INTO rank VALUES (?, ?)',
        field,
        new Uint8Array(ranks.buffer, ranks.byteOffset, ranks.byteLength),
      )
    }
    db.exec('COMMIT')
  } catch (error) {
    db.close()
    rmSync(temporary, { force: true })
    throw error
  }
  db.close()
  sync(temporary)
  renameSync(temporary, file)
  sync(dirname(file))
  return { count, bytes, largest }
}

/** How many records are written without a break. */
const recordsInTurn = 5_000

/** Flushes a file, or the names in a folder, to disk. */
function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Records with these numbers, in this order, joined. CAST avoids a detour through a JavaScript string. CROSS JOIN keeps
 * the order of SQLite's loops (https://sqlite.org/lang_select.html#crossjoin), so no sort is needed.
 */
export function recordsNumbered(db: Database, numbers: Uint32Array, separator: string) {
  return blob(
    db.get(
      `SELECT CAST(group_concat(json, ?) AS BLOB) json
       FROM (SELECT r.json FROM json_each(?) wanted CROSS JOIN record r ON r.n = wanted.value)`,
      separator,
      `[${numbers.join()}]`,
    ),
  )
}

/** A range of records without its end, in the order of the key, joined. */
export function recordsBetween(db: Database, from: number, end: number, separator: string) {
  return blob(
    db.get(
      'SELECT CAST(group_concat(json, ?) AS BLOB) json FROM (SELECT json FROM record WHERE n >= ? AND n < ? ORDER BY n)',
      separator,
      from,
      end,
    ),
  )
}

const blob = (row: { json?: unknown } | undefined): Uint8Array<ArrayBuffer> =>
  (row?.json as Uint8Array<ArrayBuffer> | null | undefined) ?? new Uint8Array()

/** All records in the format of `unpackRecords`. */
export function packRecords(db: Database, count: number, bytes: number): Uint8Array<ArrayBuffer> {
  const packed = new Uint8Array((count + 1) * Uint32Array.BYTES_PER_ELEMENT + bytes)
  const { starts, json } = unpackRecords(packed, count)
  let at = 0
  let n = 0
  for (const [record] of db.iterate('SELECT CAST(json AS BLOB) FROM record ORDER BY n') as IterableIterator<
    [Uint8Array]
  >) {
    json.set(record, at)
    at += record.length
    starts[++n] = at
  }
  return packed
}
