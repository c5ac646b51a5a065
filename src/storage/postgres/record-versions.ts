import type { Awaitable } from '../../lib/awaitable.ts'
import { quoteName } from './compile.ts'
import type { Connection } from './driver.ts'

/**
 * Each version of an imported entity has its own table: each record's JSON by its number. The table never changes after
 * it is written, so a listing needs no snapshot, and holds no connection while a slow client reads.
 */
export const recordTable = (version: string): string => `carrel.${quoteName(`records.${version}`)}`

/** Ranks are stored in parts of this many records. */
export const partLength = 256 * 1024

/** The content of a version. An entity refers to it only after it is written. */
export interface VersionContent {
  readonly version: string
  /** How many fields have ranks. */
  readonly fields: number
  ranks(field: number): Awaitable<Uint32Array>
  /** Each record's JSON, in the order of the key. */
  readonly records: Iterable<string>
}

/**
 * Writes a version in the current transaction of `db`.
 * @returns the number of records, their total size and the size of the largest, in bytes
 */
export async function writeVersion(
  db: Connection,
  { version, fields, ranks, records }: VersionContent,
): Promise<{ count: number; bytes: number; largest: number }> {
  const written = { count: 0, bytes: 0, largest: 0 }
  const table = recordTable(version)
  function* lines() {
    for (const json of records) {
      const size = Buffer.byteLength(json)
      // JSON has no line breaks or tabs except as escapes, so only backslashes must be escaped for COPY.
      yield `${written.count}\t${json.replaceAll('\\', '\\\\')}\n`
      written.count++
      written.bytes += size
      written.largest = Math.max(written.largest, size)
    }
  }
  await db.exec(`CREATE TABLE ${table} (n INTEGER NOT NULL, json TEXT NOT NULL)`)
  await db.copyIn(table, inChunks(lines()))
  await db.exec(`ALTER TABLE ${table} ADD PRIMARY KEY (n)`)
  for (let field = 0; field < fields; field++) {
    const column = await ranks(field)
    for (let part = 0; part * partLength < column.length; part++)
      await db.run(
        'INSERT INTO carrel.rank VALUES ($1, $2, $3, $4)',
        version,
        field,
        part,
        bytesOf(column.slice(part * partLength, (part + 1) * partLength)),
      )
  }
  return written
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
