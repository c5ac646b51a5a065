import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { StoreUnavailable } from '../../model/errors.ts'
import { guard, retryOnConflict } from './errors.ts'

/** The one file that knows the PostgreSQL driver: connections, statements, and what its errors mean. */
export type Value = string | number | boolean | null | Uint8Array | readonly (string | number)[]
export type Row = Record<string, unknown>

/** One connection, or whichever is free. */
export interface Queries {
  /** Prepared once per connection. */
  rows<T extends Row>(sql: string, ...values: readonly Value[]): Promise<T[]>
  /** @returns how many rows were changed */
  run(sql: string, ...values: readonly Value[]): Promise<number>
}

export interface Connection extends Queries {
  /** Number of the process at the other end, which can be told to stop what it does. */
  readonly processId: number
  /** Several statements without values. */
  exec(sql: string): Promise<void>
  /** Text in the format of COPY (https://www.postgresql.org/docs/current/sql-copy.html), some lines at a time. */
  copyIn(table: string, text: Iterable<string>): Promise<void>
  /** Lets go of it without another word, whatever it is at. */
  destroy(): void
  close(): Promise<void>
}

export interface ConnectionOptions {
  readonly url: string
  /** Milliseconds for a statement, on the server's side; 0: none. */
  readonly statementTimeout: number
  /** Milliseconds after which a connection that says nothing is given up; 0: none. */
  readonly patience: number
  /** Run on each connection before it is used. */
  readonly begin: string
  /** The same, where the engine knows it. */
  readonly attempt?: string
}

/** Milliseconds to connect, or to wait for a connection of the pool: a client has its 503 within 5 s. */
const connectTimeout = 1_900
/** A connection is replaced after this many seconds: it has prepared statements for entity versions long gone. */
const lifetime = 1_800

const ignore = () => {}

/** bigint: stamps, counts and ids, which stay far below 2^53. */
const int8 = 20
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

const clientConfig = ({ url, statementTimeout, patience }: ConnectionOptions): pg.ClientConfig => ({
  connectionString: url,
  application_name: 'carrel',
  connectionTimeoutMillis: connectTimeout,
  keepAlive: true,
  statement_timeout: statementTimeout,
  query_timeout: patience,
  types,
})

/** A connection of one's own. @throws StoreUnavailable when it can't be had */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  const client = new pg.Client(clientConfig(options))
  // What waits for an answer learns of it as well; without a listener the process would end.
  client.on('error', ignore)
  await guard(() => client.connect())
  const connection = connectionOf(client, () => client.end())
  try {
    await prepare(connection, options)
  } catch (error) {
    connection.destroy()
    throw error
  }
  return connection
}

async function prepare(connection: Connection, { begin, attempt = '' }: ConnectionOptions): Promise<void> {
  if (begin !== '') await connection.exec(begin)
  if (attempt !== '') await connection.exec(attempt).catch(() => {})
}

export interface PoolOptions extends ConnectionOptions {
  readonly size: number
  /** How many may wait for a connection. */
  readonly queue: number
}

export interface Pool extends Queries {
  /** Runs work on one connection; it is not used again when `work` destroyed it or failed. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Runs work in a transaction, again when it got into the way of another one: it must be repeatable. */
  transaction<T>(work: (queries: Connection) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function createPool(options: PoolOptions): Pool {
  const pool = new pg.Pool({
    ...clientConfig(options),
    max: options.size,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: lifetime,
    onConnect: client =>
      prepare(
        connectionOf(client, async () => {}),
        options,
      ),
  })
  // An idle connection has ended; the pool has let it go already.
  pool.on('error', ignore)

  function admit(): void {
    if (pool.waitingCount >= options.queue)
      throw new StoreUnavailable(
        `all ${options.size} connections are in use and ${options.queue} requests wait`,
      )
  }

  async function use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    admit()
    const client = await guard(() => pool.connect())
    // While it is in use nobody else listens, and the process would end with the connection.
    client.on('error', ignore)
    let destroyed = false
    const connection = connectionOf(client, async () => {})
    const once = {
      ...connection,
      destroy: () => {
        destroyed = true
      },
    }
    let failed = true
    try {
      const result = await work(once)
      failed = false
      return result
    } finally {
      client.off('error', ignore)
      client.release(failed || destroyed)
    }
  }

  const transaction = <T>(work: (connection: Connection) => Promise<T>): Promise<T> =>
    retryOnConflict(() =>
      use(async connection => {
        await connection.exec('BEGIN')
        const result = await work(connection)
        // A failure closes the connection, which rolls back.
        await connection.exec('COMMIT')
        return result
      }),
    )

  const ask = async (sql: string, values: readonly Value[]) => {
    admit()
    return retryOnConflict(() => guard(() => pool.query(prepared(sql, values))))
  }
  return {
    rows: async <T extends Row>(sql: string, ...values: readonly Value[]) =>
      (await ask(sql, values)).rows as T[],
    run: async (sql, ...values) => (await ask(sql, values)).rowCount ?? 0,
    use,
    transaction,
    close: () => pool.end(),
  }
}

function connectionOf(
  client: pg.ClientBase & { processID?: number | null },
  close: () => Promise<void>,
): Connection {
  const ask = (sql: string, values: readonly Value[]) => guard(() => client.query(prepared(sql, values)))
  return {
    processId: client.processID ?? 0,
    rows: async <T extends Row>(sql: string, ...values: readonly Value[]) =>
      (await ask(sql, values)).rows as T[],
    run: async (sql, ...values) => (await ask(sql, values)).rowCount ?? 0,
    exec: async sql => {
      await guard(() => client.query(sql))
    },
    copyIn: (table, text) =>
      guard(() => pipeline(Readable.from(text), client.query(copyFrom(`COPY ${table} FROM STDIN`)))),
    destroy: () => {
      const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection
      stream.destroy()
    },
    close,
  }
}

/** Names of prepared statements: at most 63 bytes, the same for the same text. */
const names = new Map<string, string>()
const maxNames = 10_000

function prepared(sql: string, values: readonly Value[]): pg.QueryConfig {
  let name = names.get(sql)
  if (name === undefined) {
    name = createHash('sha256').update(sql).digest('base64url')
    if (names.size >= maxNames) names.clear()
    names.set(sql, name)
  }
  return { name, text: sql, values: values as unknown[] }
}
