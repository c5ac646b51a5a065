import { StoreUnavailable } from '../../model/errors.ts'
import { joinPieces, separators } from '../../model/record-format.ts'
import type { Thread } from '../../threads/thread.ts'
import { unpackRecords } from '../shared/loaded-records.ts'
import type { RecordEntity, RecordNumbers, RecordSource } from '../shared/record-listings.ts'
import type { WorkerHandlers } from '../shared/record-worker.ts'
import type { Pool } from './driver.ts'
import { partLength, recordTable } from './record-versions.ts'
import { withReplicaFallback } from './replica-fallback.ts'

/** How many records are loaded into memory at a time. */
const loadStep = 2_000

interface Parts {
  /** The pools to read from, in order of preference: a replica may not have the version yet. */
  readonly pools: readonly Pool[]
  /** The worker thread for sorting and CSV. */
  readonly worker: () => Thread<WorkerHandlers>
}

export interface RecordTables extends RecordSource {
  /** Versions that listings are reading, with the number of listings. */
  readonly openVersions: ReadonlyMap<string, number>
}

export function recordTables({ pools, worker }: Parts): RecordTables {
  const openVersions = new Map<string, number>()

  function records({ source }: RecordEntity, numbers: RecordNumbers): Promise<string[]> {
    const table = recordTable(source.version)
    return withReplicaFallback(pools, async pool => {
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
    const parts = await withReplicaFallback(pools, async pool => {
      const rows = await pool.rows<{ ranks: Uint8Array }>(
        'SELECT ranks FROM carrel.rank WHERE version = $1 AND field = $2 ORDER BY part',
        source.version,
        field,
      )
      // A lagging replica has the table of ranks, but not yet these rows.
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
    openVersions,
    sort: async (entity, fields) => {
      const ranks: (readonly [Uint32Array, boolean])[] = []
      for (const [field, descending] of fields) ranks.push([await ranksOf(entity, field), descending])
      return worker().call('sort', entity.source.count, ranks)
    },
    load: async entity => {
      const { count, bytes } = entity.source
      const packed = new Uint8Array(
        new SharedArrayBuffer((count + 1) * Uint32Array.BYTES_PER_ELEMENT + bytes),
      )
      const { starts, json } = unpackRecords(packed, count)
      let at = 0
      let n = 0
      for (let from = 0; from < count; from += loadStep)
        for (const record of await records(entity, [from, from + loadStep])) {
          at += json.write(record, at)
          starts[++n] = at
        }
      return packed
    },
    readShort: async (entity, numbers, separator) => joinPieces(await records(entity, numbers), separator),
    open: entity => {
      const { version } = entity.source
      openVersions.set(version, (openVersions.get(version) ?? 0) + 1)
      return {
        piece: async (numbers, format, fields) => {
          const json = await records(entity, numbers)
          return format === 'csv'
            ? worker().call('csv', json.join(','), fields)
            : joinPieces(json, separators[format])
        },
        close: async () => {
          const listings = (openVersions.get(version) ?? 1) - 1
          if (listings === 0) openVersions.delete(version)
          else openVersions.set(version, listings)
        },
      }
    },
  }
}
