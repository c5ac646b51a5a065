import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { SessionKind } from '../../lib/database-address.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import type { PoolMetrics } from '../storage.ts'
import { type Chain, chainWith } from './chains.ts'
import { clientLimits, retryOnConflict, translateErrors } from './errors.ts'
import {
  type ConnectionOptions,
  type Servers,
  serversOf,
  settingUp,
  standbyRefused,
  tryEach,
} from './servers.ts'

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
  readonly generation: number | undefined
  /** The address of the server, one of those of the database. */
  readonly server: string
  /**
   * Like `rows`, for statements that a client's request shapes. There is no end to them, and the server would
   * keep each named one, at about 90 kB, for as long as the connection lasts.
   */
  unnamedRows<T extends Row>(sql: string, ...values: readonly Value[]): Promise<T[]>
  /** Runs several statements without values. */
  exec(sql: string): Promise<void>
  /** @param text in the format of COPY (https://www.postgresql.org/docs/current/sql-copy.html), in chunks of lines */
  copyIn(table: string, text: Iterable<string> | AsyncIterable<string>): Promise<void>
  /** Closes the socket at once, even during a statement. */
  destroy(): void
  close(): Promise<void>
}

/** A connection is replaced after this many seconds, because it accumulates statements for replaced versions. */
const lifetime = 1_800

/** The message of the driver when no connection of a pool became free in time. */
const allInUse = 'timeout exceeded when trying to connect'

const ignore = () => {}

/** The type OID of bigint. Stamps, counts and ids stay far below 2^53, so they are read as numbers. */
const int8 = 20
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** Several servers together may take as long as two, so that a client has its 503 in time. */
const clientConfig = ({ connectTimeout, queryTimeout }: ConnectionOptions, { count }: Servers) => ({
  application_name: 'carrel',
  connectionTimeoutMillis: Math.ceil((connectTimeout ?? clientLimits.connect) * Math.min(1, 2 / count)),
  keepAlive: true,
  query_timeout: queryTimeout,
  types,
})

/** Opens a connection outside the pool. @throws StoreUnavailable if that fails */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  const servers = serversOf(options.url)
  return tryEach(servers, async () => {
    const server = servers.current()
    const client = new pg.Client({ ...clientConfig(options, servers), connectionString: server })
    // Pending statements fail with the same error. Without a listener, this event would end the process.
    client.on('error', ignore)
    try {
      await translateErrors(() => client.connect())
      const session = await prepare(client, options, servers.session, {
        server,
        chain: chainWith(options.key),
      })
      return connectionOf(client, options, session, () => client.end())
    } catch (error) {
      servers.failed(server)
      destroy(client)
      throw error
    }
  })
}

/**
 * Sets a session up, in one round trip. The time limit is not a parameter of the start, which poolers refuse,
 * nor is the process known from it: a pooler makes a number up.
 */
async function prepare(
  client: pg.ClientBase,
  options: ConnectionOptions,
  given: SessionKind,
  known: Pick<Session, 'server' | 'chain'>,
): Promise<Session> {
  const kind = given === 'any' && options.isPrimary ? 'primary' : given
  const results: unknown = await translateErrors(() => client.query(settingUp(options, kind)), options)
  const [first] = results as readonly pg.QueryResult<{ id: number; fits: boolean }>[]
  const row = first?.rows[0]
  if (!row?.fits)
    throw new StoreUnavailable(
      kind === 'primary'
        ? standbyRefused
        : `PostgreSQL: a server doesn't fit, because target_session_attrs is ${kind}`,
    )
  if (options.optionalSetup) await client.query(options.optionalSetup).catch(ignore)
  const session = { ...known, processId: row.id, generation: undefined }
  if (!options.watch) return session
  const generation = await options.watch.admit(connectionOf(client, options, session, async () => {}))
  return { ...session, generation }
}

export interface PoolOptions extends ConnectionOptions {
  readonly size: number
  /** Maximum number of statements that wait for a connection. */
  readonly queue: number
}

function openPool(options: PoolOptions, servers: Servers) {
  const opened = new WeakMap<pg.ClientBase, Session>()
  /** A client of the server that is the current one when it is made. */
  class Client extends pg.Client {
    constructor(config: pg.ClientConfig = {}) {
      const server = servers.current()
      super({ ...config, connectionString: server })
      opened.set(this, { server, chain: chainWith(options.key), processId: 0, generation: undefined })
    }
  }
  const sessionOf = (client: pg.ClientBase) => {
    const known = opened.get(client)
    if (!known) throw new Error('the connection is not from this pool')
    return known
  }
  const pool = new pg.Pool({
    ...clientConfig(options, servers),
    Client,
    max: options.size,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: lifetime,
    onConnect: async client => {
      opened.set(client, await prepare(client, options, servers.session, sessionOf(client)))
    },
  })
  // This event means that an idle connection was lost. The pool has already removed it.
  pool.on('error', ignore)
  return { pool, sessionOf }
}

export function createPool(options: PoolOptions) {
  const servers = serversOf(options.url)
  const { pool, sessionOf } = openPool(options, servers)

  async function connected(): Promise<pg.PoolClient> {
    const server = servers.current()
    try {
      return await translateErrors(() => pool.connect())
    } catch (error) {
      // That all connections are in use says nothing about the server.
      if (!(error instanceof Error && error.message.includes(allInUse))) servers.failed(server)
      throw error
    }
  }

  async function take(): Promise<pg.PoolClient> {
    for (let attempt = 0; attempt <= options.size; attempt++) {
      const client = await tryEach(servers, connected)
      if (sessionOf(client).generation === options.watch?.generation) return client
      client.release(true)
    }
    throw new StoreUnavailable('each new connection leads to another server than the one before')
  }

  /** Runs work on one connection, which is not reused if `work` destroys it or fails. */
  async function use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    if (pool.waitingCount >= options.queue)
      throw new StoreUnavailable(
        `all ${options.size} connections are in use and ${options.queue} requests are waiting`,
      )
    const client = await take()
    // The pool doesn't listen to a connection in use; without a listener, losing it would end the process.
    client.on('error', ignore)
    let destroyed = false
    const connection = {
      ...connectionOf(client, options, sessionOf(client), async () => {}),
      destroy: () => {
        destroyed = true
      },
    }
    let failed = true
    try {
      const result = await work(connection)
      failed = false
      return result
    } finally {
      client.off('error', ignore)
      client.release(failed || destroyed)
    }
  }

  /** Runs work in a transaction, and retries it after a conflict. `work` must be safe to repeat. */
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

  /** Runs work that is a single statement on one connection, and retries it after a conflict. */
  const statement = <T>(work: (connection: Connection) => Promise<T>) => retryOnConflict(() => use(work))
  const queries: Queries = {
    rows: (sql, ...values) => statement(db => db.rows(sql, ...values)),
    run: (sql, ...values) => statement(db => db.run(sql, ...values)),
  }
  return {
    ...queries,
    use,
    statement,
    transaction,
    statementTimeout: options.statementTimeout,
    usage: (): Omit<PoolMetrics, 'name'> => ({
      max: options.size,
      used: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  }
}

export type Pool = ReturnType<typeof createPool>

type Session = Pick<Connection, 'chain' | 'processId' | 'generation' | 'server'>

/** Closes the socket at once. */
const destroy = (client: pg.ClientBase): void =>
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()

function connectionOf(
  client: pg.ClientBase,
  options: ConnectionOptions,
  session: Session,
  close: () => Promise<void>,
): Connection {
  const query = (sql: string, values: readonly Value[]) =>
    translateErrors(() => client.query(prepared(sql, values)), options)
  return {
    ...session,
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
    destroy: () => destroy(client),
    close,
  }
}

/** The names of prepared statements are digests of their SQL. PostgreSQL limits names to 63 bytes. */
const statementNames = new RecentlyUsed<string, string>(1_000)

function prepared(sql: string, values: readonly Value[]): pg.QueryConfig {
  const known = statementNames.get(sql)
  const name = known ?? createHash('sha256').update(sql).digest('base64url')
  if (!known) statementNames.add(sql, name)
  return { name, text: sql, values: values as unknown[] }
}
