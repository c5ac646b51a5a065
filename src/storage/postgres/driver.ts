import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { StoreUnavailable } from '../../lib/errors.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import type { PoolMetrics } from '../storage.ts'
import { type Chain, chainWith, type SealingKey } from './chains.ts'
import { clientLimits, retryOnConflict, translateErrors } from './errors.ts'

/** The only file that uses the PostgreSQL driver. */
export type Value = string | number | boolean | null | Uint8Array | readonly (string | number)[]
export type Row = Record<string, unknown>

/** Runs statements on one connection, or on any free connection of a pool. */
export interface Queries {
  /** Runs a statement that is prepared once per connection. */
  rows<T extends Row>(sql: string, ...values: readonly Value[]): Promise<T[]>
  /** @returns the number of changed rows */
  run(sql: string, ...values: readonly Value[]): Promise<number>
}

export interface Connection extends Queries {
  readonly chain: Chain
  /** The id of the server process, with which its current statement can be cancelled. */
  readonly processId: number
  /** The generation of the server that it leads to; undefined: it isn't watched. */
  readonly generation?: number | undefined
  /**
   * Like `rows`, for statements that a client's request shapes. There is no end to them, and the server would
   * keep each named one, at about 90 kB, for as long as the connection lasts.
   */
  unnamedRows<T extends Row>(sql: string, ...values: readonly Value[]): Promise<T[]>
  /** Runs several statements without values. */
  exec(sql: string): Promise<void>
  /**
   * @param text in the format of COPY (https://www.postgresql.org/docs/current/sql-copy.html), in chunks of
   * lines
   */
  copyIn(table: string, text: Iterable<string> | AsyncIterable<string>): Promise<void>
  /** Closes the socket at once, even during a statement. */
  destroy(): void
  close(): Promise<void>
}

/**
 * Recognizes a database that went back to an earlier state: by a failover to a standby that lacked the last commits, by
 * point-in-time recovery, or by a copy that was put in its place (docs/decisions/0085).
 */
export interface ServerWatch {
  /**
   * Grows when new connections lead to another server, or to another line of its history, than those before. What was
   * read over older connections may not be so any more.
   */
  readonly generation: number
  /**
   * Looks at the server of a new connection, before anything else is done with it.
   * @returns the generation of the connection
   * @throws StoreUnavailable if it is a standby, or on an older timeline than the server that was seen before
   */
  admit(db: Queries): Promise<number>
}

export interface ConnectionOptions {
  readonly url: string
  /** The server's time limit for a statement, in ms; 0: none. */
  readonly statementTimeout: number
  /**
   * The client's time limit for a statement, in ms, after which the server counts as unreachable; 0: none.
   */
  readonly queryTimeout: number
  /** Statements to run on each new connection; '' for none. */
  readonly setup: string
  /** A further statement, whose failure is ignored because not every server supports it. */
  readonly optionalSetup?: string
  /** Time limit in ms for a new connection; by default `clientLimits.connect`. */
  readonly connectTimeout?: number
  /** The key that seals events, where any are recorded. */
  readonly key?: SealingKey
  /** True for the operator's tables, not the store's: the server's settings decide where names are found. */
  readonly isForeign?: boolean
  /** Watches for a database that went back. Connections of an earlier generation are replaced before they are used. */
  readonly watch?: ServerWatch
}

/**
 * A connection is replaced after this many seconds, because it accumulates statements for replaced versions.
 */
const lifetime = 1_800

const ignore = () => {}

/** The type OID of bigint. Stamps, counts and ids stay far below 2^53, so they are read as numbers. */
const int8 = 20
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

const clientConfig = (options: ConnectionOptions): pg.ClientConfig => ({
  connectionString: options.url,
  application_name: 'carrel',
  connectionTimeoutMillis: options.connectTimeout ?? clientLimits.connect,
  keepAlive: true,
  statement_timeout: options.statementTimeout,
  query_timeout: options.queryTimeout,
  types,
})

/** Opens a connection outside the pool. @throws StoreUnavailable if that fails */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  const client = new pg.Client(clientConfig(options))
  // Pending statements fail with the same error. Without a listener, this event would end the process.
  client.on('error', ignore)
  await translateErrors(() => client.connect())
  const connection = connectionOf(client, options, chainWith(options.key), () => client.end())
  try {
    return { ...connection, generation: await prepare(connection, options) }
  } catch (error) {
    connection.destroy()
    throw error
  }
}

/** @returns the generation of the server, if that is watched */
async function prepare(
  connection: Connection,
  { setup, optionalSetup = '', isForeign, watch }: ConnectionOptions,
): Promise<number | undefined> {
  const all = [isForeign ? '' : 'SET search_path = carrel', setup].filter(one => one !== '').join('; ')
  if (all !== '') await connection.exec(all)
  if (optionalSetup !== '') await connection.exec(optionalSetup).catch(() => {})
  return watch?.admit(connection)
}

export interface PoolOptions extends ConnectionOptions {
  readonly size: number
  /** Maximum number of statements that wait for a connection. */
  readonly queue: number
}

export interface Pool extends Queries {
  /** Runs work on one connection, which is not reused if `work` destroys it or fails. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Runs work that is a single statement on one connection, and retries it after a conflict. */
  statement<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Runs work in a transaction, and retries it after a conflict. `work` must be safe to repeat. */
  transaction<T>(work: (queries: Connection) => Promise<T>): Promise<T>
  usage(): Omit<PoolMetrics, 'name'>
  close(): Promise<void>
}

export function createPool(options: PoolOptions): Pool {
  const generations = new WeakMap<pg.ClientBase, number | undefined>()
  const pool = new pg.Pool({
    ...clientConfig(options),
    max: options.size,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: lifetime,
    onConnect: async client => {
      const connection = connectionOf(client, options, chainWith(options.key), async () => {})
      generations.set(client, await prepare(connection, options))
    },
  })
  const chains = new WeakMap<pg.PoolClient, Chain>()
  function chainOf(client: pg.PoolClient): Chain {
    const known = chains.get(client) ?? chainWith(options.key)
    chains.set(client, known)
    return known
  }
  // This event means that an idle connection was lost. The pool has already removed it.
  pool.on('error', ignore)

  function admit(): void {
    if (pool.waitingCount >= options.queue)
      throw new StoreUnavailable(
        `all ${options.size} connections are in use and ${options.queue} requests are waiting`,
      )
  }

  async function take(): Promise<pg.PoolClient> {
    for (let attempt = 0; attempt <= options.size; attempt++) {
      const client = await translateErrors(() => pool.connect())
      if (generations.get(client) === options.watch?.generation) return client
      client.release(true)
    }
    throw new StoreUnavailable('each new connection leads to another server than the one before')
  }

  async function use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    admit()
    const client = await take()
    // The pool doesn't listen to a connection in use; without a listener, losing it would end the process.
    client.on('error', ignore)
    let destroyed = false
    const connection = connectionOf(client, options, chainOf(client), async () => {})
    const pooled = {
      ...connection,
      destroy: () => {
        destroyed = true
      },
    }
    let failed = true
    try {
      const result = await work(pooled)
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
        // If work fails, the connection is closed, which rolls back.
        await connection.exec('COMMIT')
        return result
      }),
    )

  const statement = <T>(work: (connection: Connection) => Promise<T>) => retryOnConflict(() => use(work))
  return {
    rows: (sql, ...values) => statement(db => db.rows(sql, ...values)),
    run: (sql, ...values) => statement(db => db.run(sql, ...values)),
    use,
    statement,
    transaction,
    usage: () => ({
      max: options.size,
      used: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  }
}

function connectionOf(
  client: pg.ClientBase & { processID?: number | null },
  options: ConnectionOptions,
  chain: Chain,
  close: () => Promise<void>,
): Connection {
  const query = (sql: string, values: readonly Value[]) =>
    translateErrors(() => client.query(prepared(sql, values)), options)
  return {
    chain,
    processId: client.processID ?? 0,
    rows: async <T extends Row>(sql: string, ...values: readonly Value[]) =>
      (await query(sql, values)).rows as T[],
    unnamedRows: async <T extends Row>(sql: string, ...values: readonly Value[]) =>
      (await translateErrors(() => client.query({ text: sql, values: [...values] }), options)).rows as T[],
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
    exec: async sql => {
      await translateErrors(() => client.query(sql), options)
    },
    copyIn: (table, text) =>
      translateErrors(
        () => pipeline(Readable.from(text), client.query(copyFrom(`COPY ${table} FROM STDIN`))),
        options,
      ),
    destroy: () => {
      const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection
      stream.destroy()
    },
    close,
  }
}

/** Names of prepared statements by their SQL. PostgreSQL limits names to 63 bytes. */
const statementNames = new RecentlyUsed<string, string>(1_000)

function prepared(sql: string, values: readonly Value[]): pg.QueryConfig {
  let name = statementNames.get(sql)
  if (name === undefined) {
    name = createHash('sha256').update(sql).digest('base64url')
    statementNames.add(sql, name)
  }
  return { name, text: sql, values: values as unknown[] }
}
