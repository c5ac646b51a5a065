import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { StoreUnavailable } from '../storage.ts'

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
}

/** Milliseconds to connect, or to wait for a connection of the pool: a client has its 503 within 5 s. */
const connectTimeout = 3_000
/** A connection is replaced after this many seconds: it has prepared statements for entity versions long gone. */
const lifetime = 1_800

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
  client.on('error', () => {})
  await guard(() => client.connect())
  const connection = connectionOf(client, () => client.end())
  try {
    if (options.begin !== '') await connection.exec(options.begin)
  } catch (error) {
    connection.destroy()
    throw error
  }
  return connection
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
    onConnect: async client => {
      if (options.begin !== '') await client.query(options.begin)
    },
  })
  // An idle connection has ended; the pool has let it go already.
  pool.on('error', () => {})

  function admit(): void {
    if (pool.waitingCount >= options.queue)
      throw new StoreUnavailable(
        `all ${options.size} connections are in use and ${options.queue} requests wait`,
      )
  }

  async function use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    admit()
    const client = await guard(() => pool.connect())
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
      client.release(failed || destroyed)
    }
  }

  async function transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await use(async connection => {
          await connection.exec('BEGIN')
          const result = await work(connection)
          await connection.exec('COMMIT')
          return result
        })
      } catch (error) {
        // The connection was closed, which rolls back.
        if (!isConflict(error) || attempt === mostAttempts) throw error
      }
    }
  }

  const ask = async (sql: string, values: readonly Value[]) => {
    admit()
    return guard(() => pool.query(prepared(sql, values)))
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
const mostNames = 10_000

function prepared(sql: string, values: readonly Value[]): pg.QueryConfig {
  let name = names.get(sql)
  if (name === undefined) {
    name = createHash('sha256').update(sql).digest('base64url')
    if (names.size >= mostNames) names.clear()
    names.set(sql, name)
  }
  return { name, text: sql, values: values as unknown[] }
}

/** How often a transaction is tried that conflicts with others. */
const mostAttempts = 10

/** Serialization failure and deadlock: the same again may well succeed (PostgreSQL, appendix A, class 40). */
class Conflict extends StoreUnavailable {}
const isConflict = (error: unknown) => error instanceof Conflict

/** Another node has done it in the same moment: two of these make what is there already. */
export class Exists extends Error {}

/**
 * Classes and codes that say "not now, not here" rather than "wrong": connection, authorization, database, resources,
 * limits, operator intervention, system, locks, a replica where the primary was (PostgreSQL, appendix A).
 */
const unavailable = /^(08|28|3D|53|54|57|58|55P03|25006|42501)/

/** Translates the driver's errors at the border, once. */
async function guard<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translate(error)
  }
}

function translate(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? ''
    if (/^40/.test(code)) return new Conflict('changes get into the way of each other', { cause: error })
    if (/^(23505|42P06|42P07|42710)$/.test(code)) return new Exists(error.message, { cause: error })
    return unavailable.test(code)
      ? new StoreUnavailable(`PostgreSQL: ${error.message}`, { cause: error })
      : error
  }
  const { code, message } = error as { code?: unknown; message?: unknown }
  const ofConnection = /connect|terminated|timeout|timed out|pool|not queryable|socket|closed/i
  if (error instanceof Error && (typeof code === 'string' || ofConnection.test(String(message))))
    return new StoreUnavailable(`PostgreSQL does not answer (${typeof code === 'string' ? code : message})`, {
      cause: error,
    })
  return error
}

/** The code of an error of the database's own; undefined for others. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof pg.DatabaseError ? error.code : error instanceof Error ? codeOf(error.cause) : undefined
