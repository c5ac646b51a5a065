import type { Counter } from '../../lib/counter.ts'
import { TooMuch } from '../../lib/errors.ts'
import type { Client, FairQueue } from '../../lib/fair-queue.ts'
import type { Thread } from '../../lib/threads/thread.ts'
import type { Plan } from '../../model/plan.ts'
import { isShortPage, joinPieces, type RecordFormat, separators } from '../../model/record-format.ts'
import type { Listing } from '../entities.ts'
import { type Explanation, type Steps, stepsAsJson, stepsFrom } from '../plans/explain.ts'
import { pieceBytes } from '../runtime/limits.ts'
import type { Statement } from '../tables/compile.ts'
import { csvFields, highlightsIn, listingOf } from '../tables/plan-shape.ts'
import { countOf, pageOf, shortPageOf, type Tables } from './compile.ts'
import { type Connection, connect, createPool, type PoolOptions, type Value } from './driver.ts'
import { codeOf, withReplicaFallback } from './errors.ts'
import { withConnection } from './perform.ts'
import type { WorkerHandlers } from './record-worker.ts'

/** The maximum number of records that are fetched for a piece. */
const maxFetched = 2_000
/** Number of records fetched first, before their size is known. */
const firstFetched = 100

type TableDatabase = ReturnType<typeof tableDatabase>

interface Parts {
  /** The databases to read from, in this order: the next one is read only if one can't answer. */
  readonly databases: (plan: Plan) => readonly TableDatabase[]
  /** The queue for long listings. Each holds a connection, even if its client is slow. */
  readonly places: FairQueue
  /** Counts long listings. */
  readonly listings: Counter
  readonly worker: () => Thread<WorkerHandlers>
  /** The queue for statements that may take long. */
  readonly queue: FairQueue
}

export function createTableListings(parts: Parts) {
  const { databases, queue, worker } = parts
  const listLong = createLongListings(parts)

  async function listShort(
    database: TableDatabase,
    plan: Plan,
    tables: Tables,
    format: RecordFormat,
    client: Client,
  ) {
    const { sql, values } = shortPageOf(plan, tables, separators[format])
    const [row] = await inTurn(database, client, db => {
      const rows = isShaped(plan) ? db.unnamedRows : db.rows
      return rows<{ count: number | null; body: string | null }>(sql, ...values)
    })
    const body = row?.body ?? ''
    // Rows with commas between them are marked together.
    const marked = await markedRows(worker, format === 'ndjson' ? body.split('\n') : [body], plan)
    return listingOf(plan.page, row?.count ?? null, plan.page.total, Buffer.from(marked.join('\n')))
  }

  /** Runs statements when it is the client's turn, and cancels them when the client disconnects. */
  function inTurn<T>(database: TableDatabase, client: Client, work: (db: Connection) => Promise<T>) {
    const signal = client.signal()
    const read = async (db: Connection) => {
      const stopWatching = cancelOnDisconnect(db, database, signal)
      try {
        if (database.setup !== '') await db.exec(database.setup)
        return await work(db)
      } finally {
        stopWatching()
      }
    }
    return queue.run(client, () => database.pool.use(read))
  }

  return {
    list: (plan: Plan, tables: Tables, format: RecordFormat, client: Client): Promise<Listing> => {
      const list = isShortPage(plan.page, format) ? listShort : listLong
      return whileThere(plan, client, () =>
        withReplicaFallback(databases(plan), database => list(database, plan, tables, format, client)),
      )
    },
    explain: (plan: Plan, tables: Tables, client: Client, runs: boolean): Promise<Explanation> => {
      const statement = pageOf(plan, tables)
      return whileThere(plan, client, () =>
        withReplicaFallback(databases(plan), async database =>
          stepsAsJson(
            plan,
            statement.sql,
            await inTurn(database, client, db => explainStatement(db, statement, runs)),
          ),
        ),
      )
    },
  }
}

export type TableListings = ReturnType<typeof createTableListings>

/** Marks the words that were found in rows, on the thread for long work. */
async function markedRows(
  worker: Parts['worker'],
  rows: readonly string[],
  plan: Plan,
): Promise<readonly string[]> {
  const highlights = highlightsIn(plan)
  return highlights.length === 0 ? rows : worker().call('highlight', rows, highlights)
}

/** @returns a function that lists by a cursor, on a connection of its own */
function createLongListings({ listings, places, worker }: Parts) {
  return async function listLong(
    database: TableDatabase,
    plan: Plan,
    tables: Tables,
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
      const counted = countOf(plan, tables)
      const [row] = counted ? await db.unnamedRows<{ count: number }>(counted.sql, ...counted.values) : []
      const { sql, values } = pageOf(plan, tables)
      await db.unnamedRows(`DECLARE page NO SCROLL CURSOR FOR ${sql}`, ...values)
      return listingOf(plan.page, row?.count ?? null, plan.page.total, pieces(db, plan, format, close))
    } catch (error) {
      await close()
      throw error
    }
  }

  async function* pieces(db: Connection, plan: Plan, format: RecordFormat, close: () => Promise<void>) {
    const fields = csvFields(plan)
    try {
      for (let count = firstFetched; ; ) {
        const rows = await db.rows<{ json: string }>(`FETCH ${count} FROM page`)
        if (rows.length === 0) return
        const json = await markedRows(
          worker,
          rows.map(row => row.json),
          plan,
        )
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
}

/** Runs work. If the client has gone, it fails for that reason. @throws TooMuch for what PostgreSQL can't plan */
async function whileThere<T>(plan: Plan, { signal }: Client, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const gone = signal()
    if (gone.aborted) throw gone.reason
    // Appendix A, class 54: too many columns, or a statement that is too complex.
    throw isShaped(plan) && codeOf(error)?.startsWith('54')
      ? new TooMuch('That is more than PostgreSQL can do at once. Ask for fewer columns or comparisons.')
      : error
  }
}

/** True if the request shapes the statement, for example by an order: there are too many to prepare them. */
const isShaped = ({ where, shape, page }: Plan) =>
  where !== null || shape.kind === 'rows' || page.order.length > 0

/** Keeps the number of different values small, because each makes a prepared statement of its own. */
const floorToPowerOfTwo = (count: number) => 2 ** Math.max(0, Math.floor(Math.log2(count)))

/**
 * Cancels the query in the database when the client disconnects. The connection is not reused, so that a late
 * cancel request never hits a later statement of another request.
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
    cancel(db).catch(() => {})
  }
  clientSignal.addEventListener('abort', cancelQuery, { once: true })
  return () => clientSignal.removeEventListener('abort', cancelQuery)
}

/** Explains a statement (https://www.postgresql.org/docs/current/sql-explain.html). @param runs true to run it, too */
async function explainStatement(
  db: Connection,
  { sql, values }: Statement<Value>,
  runs: boolean,
): Promise<Steps> {
  const rows = await db.unnamedRows<{ 'QUERY PLAN': string }>(
    `EXPLAIN (COSTS OFF${runs ? ', ANALYZE, BUFFERS OFF' : ''}) ${sql}`,
    ...values,
  )
  const steps = rows.map(row => row['QUERY PLAN'])
  const index = /Index(?: Only)? Scan(?: Backward)? (?:using|on) (\S+)/
  const explained = stepsFrom(steps, index, /\bSeq Scan\b/)
  if (!runs) return explained
  const [, count = '0'] = /actual .*?rows=(\d+)/.exec(steps[0] ?? '') ?? []
  const [time = '0'] = steps.flatMap(step => /^Execution Time: ([\d.]+)/.exec(step)?.[1] ?? [])
  return { ...explained, ran: { rows: Number(count), milliseconds: Math.round(Number(time)) } }
}

/** Ends a listing whose client has read nothing for ten minutes, and releases its snapshot on the server. */
const idleTimeout = "SET idle_in_transaction_session_timeout = '10min'"
/** Lets the server end a statement when the node has disconnected. Not every version and platform supports it. */
const checkClientConnection = 'SET client_connection_check_interval = 1000'

/** A database to read tables from: the primary or a replica. */
export function tableDatabase(options: PoolOptions) {
  const pool = createPool({ ...options, optionalSetup: checkClientConnection })
  return {
    pool,
    /** Statements to run again before each page; '' for none. */
    setup: options.setup,
    /** Opens a connection of its own for a listing. */
    connect: () =>
      connect({
        ...options,
        setup: `${idleTimeout}; ${options.setup}`,
        optionalSetup: checkClientConnection,
      }),
    // Cancels the current statement of a server process. On a new connection, because those of the pool may all be waiting for statements like the one to cancel.
    cancel: ({ processId, server }: Pick<Connection, 'processId' | 'server'>) =>
      withConnection(
        () => connect({ ...options, url: server, setup: '' }),
        connection => connection.rows('SELECT pg_cancel_backend($1)', processId),
      ),
  }
}
