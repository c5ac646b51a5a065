import { joinPieces, separators } from '../../model/record-format.ts'
import type { Numbers, RecordEntity, RecordSource } from '../shared/record-listings.ts'
import type { WorkerHandlers } from '../shared/record-worker.ts'
import type { Thread } from '../shared/thread.ts'
import { StoreUnavailable } from '../storage.ts'
import { quoteName } from './compile.ts'
import type { Connection, Pool } from './driver.ts'
import { readAtFirst } from './replica-fallback.ts'

/**
 * A version of an imported entity is a table of its own: each record's JSON by its number. It never changes once it is
 * there, so a listing needs no snapshot and holds no connection while its client takes its time.
 */
export const recordTable = (version: string): string => `carrel.${quoteName(`records.${version}`)}`

/** Ranks are kept in parts of this many records. */
export const partLength = 256 * 1024
/** Records that are read at once into memory. */
const loadStep = 2_000

/** What is written of a version: who it belongs to comes later. */
export interface VersionContent {
  readonly version: string
  /** How many fields have ranks. */
  readonly fields: number
  ranks(field: number): Uint32Array
  /** Each record's JSON, in the order of the key. */
  readonly records: Iterable<string>
}

/**
 * Writes a version, inside of the transaction that `db` is in.
 * @returns how many records there are, their bytes together, and those of the largest
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
      // JSON has no line ends and no tabs outside of escapes; a backslash is all that COPY would misread.
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
    const column = ranks(field)
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

/** Characters that go out at once. */
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

interface Parts {
  /** Where to read, the first that has the version: a replica may not have it yet. */
  readonly pools: readonly Pool[]
  /** The thread that sorts. */
  readonly worker: () => Thread<WorkerHandlers>
}

export interface RecordTables extends RecordSource {
  /** Versions that listings are reading now. */
  readonly held: ReadonlyMap<string, number>
}

export function recordTables({ pools, worker }: Parts): RecordTables {
  const held = new Map<string, number>()

  function records({ source }: RecordEntity, numbers: Numbers): Promise<string[]> {
    const table = recordTable(source.version)
    return readAtFirst(pools, async pool => {
      const rows =
        numbers instanceof Uint32Array
          ? await pool.rows<{ json: string }>(
              `SELECT r.json FROM unnest($1::integer[]) WITH ORDINALITY AS wanted (n, at) JOIN ${table} r ON r.n = wanted.n ORDER BY at`,
              [...numbers],
            )
          : await pool.rows<{ json: string }>(
              `SELECT json FROM ${table} WHERE n >= $1 AND n < $2 ORDER BY n`,
              ...numbers,
            )
      return rows.map(row => row.json)
    })
  }

  async function ranksOf({ source }: RecordEntity, field: number): Promise<Uint32Array> {
    const parts = await readAtFirst(pools, async pool => {
      const rows = await pool.rows<{ ranks: Uint8Array }>(
        'SELECT ranks FROM carrel.rank WHERE version = $1 AND field = $2 ORDER BY part',
        source.version,
        field,
      )
      // A replica that is behind has the table of ranks, but not these.
      if (rows.length < Math.ceil(source.count / partLength))
        throw new StoreUnavailable(`field ${field} has no ranks yet`)
      return rows
    })
    const ranks = new Uint32Array(source.count)
    const bytes = new Uint8Array(ranks.buffer)
    for (const [part, row] of parts.entries())
      bytes.set(row.ranks, part * partLength * Uint32Array.BYTES_PER_ELEMENT)
    return ranks
  }

  return {
    held,
    sort: async (entity, fields) => {
      const ranks: (readonly [Uint32Array, boolean])[] = []
      for (const [field, descending] of fields) ranks.push([await ranksOf(entity, field), descending])
      return worker().call('sort', entity.source.count, ranks)
    },
    load: async entity => {
      const { count, bytes } = entity.source
      const packed = new Uint8Array((count + 1) * Uint32Array.BYTES_PER_ELEMENT + bytes)
      const starts = new Uint32Array(packed.buffer, 0, count + 1)
      const json = Buffer.from(packed.buffer, starts.byteLength)
      let at = 0
      let n = 0
      for (let from = 0; from < count; from += loadStep)
        for (const record of await records(entity, [from, from + loadStep])) {
          at += json.write(record, at)
          starts[++n] = at
        }
      return packed
    },
    cut: async (entity, numbers, separator) => joinPieces(await records(entity, numbers), separator),
    open: entity => {
      const { version } = entity.source
      held.set(version, (held.get(version) ?? 0) + 1)
      return {
        piece: async (numbers, shape, fields) => {
          const json = await records(entity, numbers)
          return shape === 'csv'
            ? worker().call('csv', json.join(','), fields)
            : joinPieces(json, separators[shape])
        },
        close: async () => {
          const holders = (held.get(version) ?? 1) - 1
          if (holders === 0) held.delete(version)
          else held.set(version, holders)
        },
      }
    },
  }
}
