import type { Counter } from '../../lib/counter.ts'
import type { Client, FairQueue } from '../../lib/fair-queue.ts'
import type { Field, Page } from '../../model/entities.ts'
import type { Plan } from '../../model/plan.ts'
import { joinPieces, type RecordFormat, separators } from '../../model/record-format.ts'
import { isShortPage } from '../../model/short-pages.ts'
import type { Thread } from '../../threads/thread.ts'
import type { Listing } from '../entities.ts'
import { pieceBytes } from '../shared/page-limits.ts'
import { csvFields } from '../shared/plan-shape.ts'
import type { WorkerHandlers } from '../shared/record-worker.ts'
import { compileCount, compilePage, compileShortPage, type TableOf } from './compile.ts'
import type { Connection, Pool } from './driver.ts'
import { withReplicaFallback } from './replica-fallback.ts'

/** The maximum number of records that are fetched for a piece. */
const maxFetched = 2_000
/** How many are fetched first, before their size is known. */
const firstFetched = 100

/** A database to read tables from: the primary or a replica. */
export interface TableDatabase {
  readonly pool: Pool
  /** Statements to run again before each page; '' for none. */
  readonly setup: string
  /** Opens a connection of its own for a listing. */
  readonly connect: () => Promise<Connection>
  /** Cancels the current statement of a server process. */
  readonly cancel: (processId: number) => Promise<unknown>
}

interface Parts {
  /** The databases to read from, in this order: the next one only if one can't answer. */
  readonly databases: (plan: Plan) => readonly TableDatabase[]
  /** For long listings. Each holds a connection, however slow its client is. */
  readonly places: FairQueue
  /** Counts them. */
  readonly listings: Counter
  readonly worker: () => Thread<WorkerHandlers>
  /** For statements that may take long. */
  readonly queue: FairQueue
}

export type ListTable = (
  plan: Plan,
  tableOf: TableOf,
  format: RecordFormat,
  client: Client,
) => Promise<Listing>

export function createTableListings({ databases, listings, places, worker, queue }: Parts): ListTable {
  const listingOf = (page: Page, count: number | null, body: Listing['body']): Listing => ({
    total: page.total && count !== null ? count : undefined,
    more: page.limit === null || count === null ? undefined : page.offset + page.limit < count,
    body,
  })

  async function listShort(
    database: TableDatabase,
    plan: Plan,
    tableOf: TableOf,
    format: RecordFormat,
    client: Client,
  ) {
    const { sql, values } = compileShortPage(plan, tableOf, separators[format])
    const signal = client.signal()
    const read = async (db: Connection) => {
      const stopWatching = cancelOnDisconnect(db, database, signal)
      try {
        if (database.setup !== '') await db.exec(database.setup)
        const rows = isShaped(plan) ? db.unnamedRows : db.rows
        const [row] = await rows<{ count: number | null; body: string | null }>(sql, ...values)
        return row
      } finally {
        stopWatching()
      }
    }
    const row = await queue.run(client, () => database.pool.use(read))
    return listingOf(plan.page, row?.count ?? null, Buffer.from(row?.body ?? ''))
  }

  async function listLong(
    database: TableDatabase,
    plan: Plan,
    tableOf: TableOf,
    format: RecordFormat,
    client: Client,
  ) {
    const leave = await places.enter(client)
    listings.add(Number.POSITIVE_INFINITY)
    const signal = client.signal()
    let db: Connection | undefined
    let stopWatching = () => {}
    let isOpen = true
    const close = async () => {
      if (!isOpen) return
      isOpen = false
      leave()
      listings.remove()
      stopWatching()
      // Closing the connection also ends its statement and transaction.
      await db?.close().catch(() => {})
    }
    try {
      db = await database.connect()
      stopWatching = cancelOnDisconnect(db, database, signal)
      // The total and the cursor read the same snapshot.
      await db.exec('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const counted = compileCount(plan, tableOf)
      const [row] = counted ? await db.unnamedRows<{ count: number }>(counted.sql, ...counted.values) : []
      const { sql, values } = compilePage(plan, tableOf)
      await db.unnamedRows(`DECLARE page NO SCROLL CURSOR FOR ${sql}`, ...values)
      return listingOf(plan.page, row?.count ?? null, pieces(db, csvFields(plan), format, close))
    } catch (error) {
      await close()
      throw error
    }
  }

  async function* pieces(
    db: Connection,
    fields: readonly Field[],
    format: RecordFormat,
    close: () => Promise<void>,
  ) {
    try {
      for (let count = firstFetched; ; ) {
        const rows = await db.rows<{ json: string }>(`FETCH ${count} FROM page`)
        if (rows.length === 0) return
        const json = rows.map(row => row.json)
        const piece =
          format === 'csv'
            ? await worker().call('csv', json.join(','), fields)
            : joinPieces(json, separators[format])
        yield piece
        count = floorToPowerOfTwo(
          Math.min(maxFetched, (pieceBytes / Math.max(piece.length, 1)) * rows.length),
        )
      }
    } finally {
      await close()
    }
  }

  return async (plan, tableOf, format, client) => {
    const list = isShortPage(plan.page, format) ? listShort : listLong
    return withReplicaFallback(databases(plan), database => list(database, plan, tableOf, format, client))
  }
}

/** Whether the client has asked for an order or anything else that makes the statement one of very many. */
const isShaped = ({ where, shape, page }: Plan) =>
  where !== null || shape.kind === 'rows' || page.order.length > 0

/** Keeps the number of different values small, because each makes a prepared statement of its own. */
const floorToPowerOfTwo = (count: number) => 2 ** Math.max(0, Math.floor(Math.log2(count)))

/**
 * Cancels the query in the database when the client disconnects. The connection is not reused, so that a late cancel
 * request never hits a later statement of another request.
 * @throws the signal's reason if the client has already disconnected
 * @returns a function to call when the statement has finished
 */
function cancelOnDisconnect(
  db: Connection,
  { cancel }: TableDatabase,
  clientSignal: AbortSignal,
): () => void {
  clientSignal.throwIfAborted()
  const cancelQuery = () => {
    db.destroy()
    cancel(db.processId).catch(() => {})
  }
  clientSignal.addEventListener('abort', cancelQuery, { once: true })
  return () => clientSignal.removeEventListener('abort', cancelQuery)
}
