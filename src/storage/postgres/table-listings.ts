import type { Entity, Page } from '../../model/entities.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import { joinPieces, type RecordFormat, separators } from '../../model/record-format.ts'
import type { ClientSignal, Listing } from '../entities.ts'
import { isShortPage, pieceBytes } from '../shared/page-limits.ts'
import type { WorkerHandlers } from '../shared/record-worker.ts'
import type { Thread } from '../shared/thread.ts'
import { compileCount, compilePage, compileShort, type TableShape } from './compile.ts'
import type { Connection, Pool } from './driver.ts'
import { withReplicaFallback } from './replica-fallback.ts'

/** The most records that are fetched for a piece. */
const maxFetched = 2_000
/** Before their size is known. */
const firstFetched = 100

/** One place to read tables from. */
export interface TablePlace {
  readonly pool: Pool
  /** What each page begins with, '' for nothing. */
  readonly begin: string
  /** A connection of its own for a listing. */
  readonly connect: () => Promise<Connection>
  /** Tells the process at the other end to stop what it does. */
  readonly cancel: (processId: number) => Promise<unknown>
}

interface Parts {
  /** Where to read, in this order: the next one only when one is out of reach. */
  readonly places: (entity: Entity) => readonly TablePlace[]
  /** How many listings may be under way; each has a connection, however slow its client is. */
  readonly maxListings: number
  readonly worker: () => Thread<WorkerHandlers>
}

export type ListTable = (
  entity: Entity,
  source: TableShape,
  page: Page,
  format: RecordFormat,
  clientSignal: ClientSignal,
) => Promise<Listing>

export function createTables({ places, maxListings, worker }: Parts): ListTable {
  let listings = 0

  const listingOf = (page: Page, count: number | null, body: Listing['body']): Listing => ({
    total: page.total && count !== null ? count : undefined,
    more: page.limit === null || count === null ? undefined : page.offset + page.limit < count,
    body,
  })

  async function short(
    place: TablePlace,
    entity: Entity,
    source: TableShape,
    page: Page,
    format: RecordFormat,
    clientSignal: ClientSignal,
  ) {
    const { sql, values } = compileShort(entity, source, page, separators[format])
    const signal = clientSignal()
    const row = await place.pool.use(async db => {
      const end = endWhenGone(db, place, signal)
      try {
        if (place.begin !== '') await db.exec(place.begin)
        const [found] = await db.rows<{ count: number | null; body: string | null }>(sql, ...values)
        return found
      } finally {
        end()
      }
    })
    return listingOf(page, row?.count ?? null, Buffer.from(row?.body ?? ''))
  }

  async function long(
    place: TablePlace,
    entity: Entity,
    source: TableShape,
    page: Page,
    format: RecordFormat,
    clientSignal: ClientSignal,
  ) {
    if (listings >= maxListings)
      throw new StoreUnavailable(`${listings} listings of tables are under way, and no more may be`)
    listings++
    const signal = clientSignal()
    let db: Connection | undefined
    let end = () => {}
    let isOpen = true
    const close = async () => {
      if (!isOpen) return
      isOpen = false
      listings--
      end()
      // What it was at ends with it.
      await db?.close().catch(() => {})
    }
    try {
      db = await place.connect()
      end = endWhenGone(db, place, signal)
      // The total and the cursor see the same moment.
      await db.exec('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const counted = compileCount(source, page)
      const [row] = counted ? await db.rows<{ count: number }>(counted.sql, ...counted.values) : []
      const { sql, values } = compilePage(entity, source, page)
      await db.run(`DECLARE page NO SCROLL CURSOR FOR ${sql}`, ...values)
      return listingOf(page, row?.count ?? null, pieces(db, entity, format, close))
    } catch (error) {
      await close()
      throw error
    }
  }

  async function* pieces(db: Connection, entity: Entity, format: RecordFormat, close: () => Promise<void>) {
    try {
      for (let count = firstFetched; ; ) {
        const rows = await db.rows<{ json: string }>(`FETCH ${count} FROM page`)
        if (rows.length === 0) return
        const json = rows.map(row => row.json)
        const piece =
          format === 'csv'
            ? await worker().call('csv', json.join(','), entity.fields)
            : joinPieces(json, separators[format])
        yield piece
        count = roundedDown(Math.min(maxFetched, (pieceBytes / Math.max(piece.length, 1)) * rows.length))
      }
    } finally {
      await close()
    }
  }

  return async (entity, source, page, format, clientSignal) => {
    const list = isShortPage(page, format) ? short : long
    return withReplicaFallback(places(entity), place =>
      list(place, entity, source, page, format, clientSignal),
    )
  }
}

/** Few different numbers, because each is a statement of its own. */
const roundedDown = (count: number) => 2 ** Math.max(0, Math.floor(Math.log2(count)))

/**
 * A client that goes away ends the query in the database: the process at the other end is told to stop, and the
 * connection is not used again, so that a late "stop" never meets the statement of somebody else.
 * @throws what the signal says, when the client has gone already
 * @returns to be called when the statement is over
 */
function endWhenGone(db: Connection, { cancel }: TablePlace, clientSignal: AbortSignal): () => void {
  clientSignal.throwIfAborted()
  const stop = () => {
    db.destroy()
    cancel(db.processId).catch(() => {})
  }
  clientSignal.addEventListener('abort', stop, { once: true })
  return () => clientSignal.removeEventListener('abort', stop)
}
