import { joinPieces, separators } from '../../model/record-format.ts'
import type { WorkerHandlers } from '../shared/record-worker.ts'
import type { Thread } from '../shared/thread.ts'
import { type Entity, type Gone, type Listing, type Page, type Shape, StoreUnavailable } from '../storage.ts'
import { compileCount, compilePage, compileShort, type TableShape } from './compile.ts'
import type { Connection, Pool } from './driver.ts'
import { readAtFirst } from './replica-fallback.ts'

/** A page of at most this many records is one statement; what is longer moves with a cursor at the client's pace. */
const shortPage = 100
/** Bytes of JSON that a piece should have, about; and the most records that are fetched for one. */
const pieceBytes = 128 * 1024
const mostFetched = 2_000
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
  readonly mostListings: number
  readonly worker: () => Thread<WorkerHandlers>
}

export type ListTable = (
  entity: Entity,
  source: TableShape,
  page: Page,
  shape: Shape,
  gone: Gone,
) => Promise<Listing>

export function createTables({ places, mostListings, worker }: Parts): ListTable {
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
    shape: Shape,
    gone: Gone,
  ) {
    const { sql, values } = compileShort(entity, source, page, separators[shape])
    const signal = gone()
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
    shape: Shape,
    gone: Gone,
  ) {
    if (listings >= mostListings)
      throw new StoreUnavailable(`${listings} listings of tables are under way, and no more may be`)
    listings++
    const signal = gone()
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
      return listingOf(page, row?.count ?? null, pieces(db, entity, shape, close))
    } catch (error) {
      await close()
      throw error
    }
  }

  async function* pieces(db: Connection, entity: Entity, shape: Shape, close: () => Promise<void>) {
    try {
      for (let count = firstFetched; ; ) {
        const rows = await db.rows<{ json: string }>(`FETCH ${count} FROM page`)
        if (rows.length === 0) return
        const json = rows.map(row => row.json)
        const piece =
          shape === 'csv'
            ? await worker().call('csv', json.join(','), entity.fields)
            : joinPieces(json, separators[shape])
        yield piece
        count = roundedDown(Math.min(mostFetched, (pieceBytes / Math.max(piece.length, 1)) * rows.length))
      }
    } finally {
      await close()
    }
  }

  return async (entity, source, page, shape, gone) => {
    const isShort = page.limit !== null && page.limit <= shortPage && shape !== 'csv'
    const list = isShort ? short : long
    return readAtFirst(places(entity), place => list(place, entity, source, page, shape, gone))
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
function endWhenGone(db: Connection, { cancel }: TablePlace, gone: AbortSignal): () => void {
  gone.throwIfAborted()
  const stop = () => {
    db.destroy()
    cancel(db.processId).catch(() => {})
  }
  gone.addEventListener('abort', stop, { once: true })
  return () => gone.removeEventListener('abort', stop)
}
