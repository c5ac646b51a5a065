import { StoreUnavailable } from '../../lib/errors.ts'
import type { RecordEntity } from '../entities.ts'
import type { RecordNumbers } from '../records/record-source.ts'
import type { Pool } from './driver.ts'
import { withReplicaFallback } from './errors.ts'
import { recordTable } from './record-versions.ts'

/**
 * Short pages of imported records (docs/decisions/0054). Pages that are requested while others are read share
 * the next statement: a page costs more for the statement than for its records. A version never changes, so
 * it doesn't matter when it is read.
 */

/** Maximum number of statements at once: two, so that one is read while results are handed out. */
const maxRunning = 2
/** Maximum time in ms that a batch waits. When statements take longer, as from a cold disk, more run at once. */
const patience = 5
/** Maximum bytes of a statement, estimated by the version's largest record. One page alone may have more. */
const maxBytes = 1024 * 1024
/** Minimum number of bytes counted for a record. */
const leastBytes = 1024

interface Page<N extends RecordNumbers> {
  readonly numbers: N
  readonly length: number
  readonly resolve: (json: Uint8Array) => void
  readonly reject: (error: unknown) => void
}

/** Pages that one statement reads: ranges, or lists of slots. */
interface Batch<N extends RecordNumbers = RecordNumbers> {
  readonly version: string
  readonly separator: string
  readonly isOfLists: boolean
  readonly pages: Page<N>[]
  bytes: number
  timer?: NodeJS.Timeout
}

/** @returns a function that reads a page: the JSON of its records, joined by the separator */
export function createShortReads(pools: readonly Pool[]) {
  /** Waiting batches, in the order in which they are read. */
  const batches: Batch[] = []
  let running = 0
  let isScheduled = false

  function batchFor(version: string, separator: string, isOfLists: boolean, bytes: number): Batch {
    const open = batches.findLast(
      one => one.version === version && one.separator === separator && one.isOfLists === isOfLists,
    )
    if (open && open.bytes + bytes <= maxBytes) return open
    const batch: Batch = { version, separator, isOfLists, pages: [], bytes: 0 }
    batch.timer = setTimeout(begin, patience, batch)
    batches.push(batch)
    return batch
  }

  /** Begins a batch after a turn of the event loop, so that pages requested together are read together. */
  function schedule(): void {
    if (isScheduled || running >= maxRunning || batches.length === 0) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      const [batch] = batches
      if (batch && running < maxRunning) begin(batch)
      schedule()
    })
  }

  function begin(batch: Batch): void {
    clearTimeout(batch.timer)
    batches.splice(batches.indexOf(batch), 1)
    running++
    void run(batch).finally(() => {
      running--
      schedule()
    })
  }

  async function run(batch: Batch): Promise<void> {
    const { pages } = batch
    try {
      const read = await withReplicaFallback(pools, pool => readBatch(pool, batch, pool === pools.at(-1)))
      for (const [at, { resolve, reject }] of pages.entries()) {
        const json = read[at]
        if (json === undefined) reject(incomplete())
        else resolve(Buffer.from(json))
      }
    } catch (error) {
      for (const { reject } of pages) reject(error)
    }
  }

  return ({ source }: RecordEntity, numbers: RecordNumbers, separator: string): Promise<Uint8Array> => {
    const isList = numbers instanceof Uint32Array
    const length = isList ? numbers.length : numbers[1] - numbers[0]
    if (length === 0) return Promise.resolve(new Uint8Array())
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const bytes = length * Math.max(source.largest, leastBytes)
    const batch = batchFor(source.version, separator, isList, bytes)
    batch.pages.push({ numbers, length, resolve, reject })
    batch.bytes += bytes
    schedule()
    return promise
  }
}

interface PageRow {
  readonly at: number
  readonly json: string
  readonly count: number
  readonly [column: string]: unknown
}

/** A lagging replica may have the table, but not yet the rows of a revision. */
const incomplete = () => new StoreUnavailable('some records are not there yet')

/**
 * @returns the JSON of each page; undefined for one without all of its records
 * @throws StoreUnavailable if a page is incomplete, and another database may have it
 */
async function readBatch(pool: Pool, batch: Batch, isLast: boolean): Promise<(string | undefined)[]> {
  const rows = await (batch.isOfLists
    ? readLists(pool, batch as Batch<Uint32Array>)
    : readRanges(pool, batch as Batch<readonly [number, number]>))
  const read: (string | undefined)[] = batch.pages.map(() => undefined)
  for (const { at, json, count } of rows) if (count === batch.pages[at - 1]?.length) read[at - 1] = json
  if (!isLast && read.includes(undefined)) throw incomplete()
  return read
}

const readRanges = (pool: Pool, { version, separator, pages }: Batch<readonly [number, number]>) =>
  pool.rows<PageRow>(
    `SELECT wanted.at, page.json, page.count FROM unnest($1::integer[], $2::integer[]) WITH ORDINALITY AS wanted (first, "end", at),
     LATERAL (SELECT string_agg(r.json, $3 ORDER BY r.n) AS json, count(*) AS count FROM ${recordTable(version)} r
       WHERE r.n >= wanted.first AND r.n < wanted."end") AS page`,
    pages.map(({ numbers }) => numbers[0]),
    pages.map(({ numbers }) => numbers[1]),
    separator,
  )

function readLists(pool: Pool, { version, separator, pages }: Batch<Uint32Array>): Promise<PageRow[]> {
  const slots: number[] = []
  const places: number[] = []
  for (const [place, { numbers }] of pages.entries())
    for (const slot of numbers) {
      slots.push(slot)
      places.push(place + 1)
    }
  return pool.rows<PageRow>(
    `SELECT wanted.page AS at, string_agg(r.json, $3 ORDER BY wanted.at) AS json, count(*) AS count
     FROM unnest($1::integer[], $2::integer[]) WITH ORDINALITY AS wanted (n, page, at)
     JOIN ${recordTable(version)} r ON r.n = wanted.n GROUP BY wanted.page`,
    slots,
    places,
    separator,
  )
}
