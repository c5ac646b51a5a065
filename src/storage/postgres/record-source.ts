import { StoreUnavailable } from '../../lib/errors.ts'
import type { FairQueue } from '../../lib/fair-queue.ts'
import { shareNumbers } from '../../lib/memory.ts'
import type { Thread } from '../../lib/threads/thread.ts'
import { joinPieces, separators } from '../../model/record-format.ts'
import type { RecordEntity } from '../entities.ts'
import type { FieldFiles } from '../records/field-files.ts'
import type { RecordNumbers, RecordSource, RecordWork } from '../records/record-source.ts'
import { findKeysTogether, searchIn } from '../records/search.ts'
import type { Shared } from '../runtime/event-loops.ts'
import type { Pool } from './driver.ts'
import { withReplicaFallback } from './errors.ts'
import { readColumn, readRecords, recordTable, slotsField } from './record-versions.ts'
import type { WorkerHandlers } from './record-worker.ts'
import { createShortReads } from './short-reads.ts'

/** Number of records read at a time. */
const loadStep = 2_000

interface Parts {
  readonly queue: FairQueue
  /** The pools to read from, in order of preference: a replica may not have the version yet. */
  readonly pools: readonly Pool[]
  /** The worker thread for sorting and CSV. */
  readonly worker: () => Thread<WorkerHandlers>
  readonly fieldFiles: FieldFiles
}

export function recordTables({ pools, worker, queue, fieldFiles }: Parts) {
  /** Versions that listings are reading, with the number of listings. */
  const openVersions = new Map<string, number>()

  function records({ source }: RecordEntity, numbers: RecordNumbers): Promise<string[]> {
    return withReplicaFallback(pools, async pool => {
      if (numbers instanceof Uint32Array) return readRecords(pool, source.version, numbers)
      const [from, end] = numbers
      const rows = await pool.rows<{ json: string }>(
        `SELECT json FROM ${recordTable(source.version)} WHERE n >= $1 AND n < $2 ORDER BY n`,
        from,
        end,
      )
      if (rows.length < end - from) throw new StoreUnavailable('some records are not there yet')
      return rows.map(row => row.json)
    })
  }

  const columnOf = ({ source }: RecordEntity, field: number) =>
    withReplicaFallback(pools, pool => readColumn(pool, source, field))

  const workOf = (): RecordWork => ({
    column: async (entity, field) =>
      worker().call('column', await columnOf(entity, field), entity.fields[field]?.nullable ?? true),
    slots: async entity => shareNumbers(await columnOf(entity, slotsField)),
    values: async (entity, slots, field, stop) => {
      const parts = []
      const lengths = []
      for (let from = 0; from < slots.length; from += loadStep) {
        const some = slots.slice(from, from + loadStep)
        parts.push(await worker().call('extract', await records(entity, some), some.length, field, stop))
        lengths.push(some.length)
      }
      return { parts, lengths }
    },
    search: (entity, field, keys, among) =>
      findKeysTogether(searchIn(entity, field, among), keys, slots => records(entity, slots)),
    call: (name, ...args) => worker().call(name, ...args),
  })

  const source: RecordSource = {
    fieldFiles,
    begin: () => void worker(),
    inTurn: (client, work) => queue.run(client, () => work(workOf())),
    readShort: createShortReads(pools),
    open: entity => {
      const { version } = entity.source
      openVersions.set(version, (openVersions.get(version) ?? 0) + 1)
      return {
        piece: async (numbers, format, fields, columns) => {
          const json = await records(entity, numbers)
          return columns === null && format !== 'csv'
            ? joinPieces(json, separators[format])
            : worker().call('piece', json.join(','), format, fields, columns)
        },
        close: async () => {
          const listings = (openVersions.get(version) ?? 1) - 1
          if (listings === 0) openVersions.delete(version)
          else openVersions.set(version, listings)
        },
      }
    },
  }
  return { ...source, openVersions }
}

/** The thread that sorts and filters records, started when it is first needed. */
export function lazyWorker({ threads }: Shared, statementTimeout: number) {
  let thread: Thread<WorkerHandlers> | undefined
  return {
    get: () => {
      if (thread === undefined || thread.hasEnded)
        thread = threads.start<WorkerHandlers>('storage/postgres/record-worker', 0, { statementTimeout })
      return thread
    },
    close: async () => {
      await thread?.close()
    },
  }
}
