import { StoreUnavailable } from '../../lib/errors.ts'
import { newestOf } from '../schema.ts'
import {
  type ConnectionLimit,
  factsOf,
  type ReplicaFacts,
  type ServerFacts,
  type StoreFacts,
} from '../statements/inspect.ts'
import { type Connection, connect } from './driver.ts'
import { codeOf } from './errors.ts'
import { hasSchema } from './migrate.ts'
import { perform } from './perform.ts'
import { schema } from './schema.ts'

/** A time limit for each statement, in ms: the newest backup is searched for among many events. */
const timeout = 10_000

const connectOnlyToRead = (url: string) =>
  connect({
    url,
    statementTimeout: timeout,
    queryTimeout: timeout,
    setup: 'SET default_transaction_read_only = on',
  })

/**
 * Reads facts about the store in the database, and about the server, in transactions that can't write.
 * @throws StoreUnavailable when there is none, or it can't be read
 */
export const inspectStore = (url: string, replicaUrl: string | null): Promise<StoreFacts> =>
  reading(url, async db => {
    const version = await versionOf(db)
    if (!version) throw new StoreUnavailable('no store in the database; set CARREL_DATABASE_URL')
    const [secret] = await db.rows<{ made: number }>('SELECT made FROM secret ORDER BY id DESC LIMIT 1')
    return {
      ...(await perform(db, factsOf(version === newestOf(schema)))),
      migrationsMissing: newestOf(schema) - version,
      secretMade: secret?.made ?? null,
      // An older schema may not have the store's id, by which its replica is recognized.
      server: await inspectServer(db, version < newestOf(schema) ? null : replicaUrl),
    }
  })

/** @throws StoreUnavailable for every error of the server */
async function reading<T>(url: string, read: (db: Connection) => Promise<T>): Promise<T> {
  try {
    const db = await connectOnlyToRead(url)
    try {
      return await read(db)
    } finally {
      // An earlier error says more than a lost connection.
      await db.close().catch(() => {})
    }
  } catch (error) {
    const code = codeOf(error)
    if (error instanceof StoreUnavailable || code === undefined || !(error instanceof Error)) throw error
    throw new StoreUnavailable(`PostgreSQL: ${error.message} (${code})`, { cause: error })
  }
}

/** @returns undefined if there is no store */
async function versionOf(db: Connection): Promise<number | undefined> {
  if (!(await hasSchema(db))) return undefined
  return (await db.rows<{ version: number }>('SELECT version FROM store_schema'))[0]?.version
}

async function inspectServer(db: Connection, replicaUrl: string | null): Promise<ServerFacts> {
  const [row] = await db.rows<{
    version: string
    encoding: string
    unsafe: string[]
    encrypted: boolean | null
    standbys: number
  }>(
    `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
       ARRAY(SELECT name || ' = ' || setting FROM pg_settings
         WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off' ORDER BY name) AS unsafe,
       (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS encrypted,
       (SELECT count(*) FROM pg_stat_replication WHERE current_setting('synchronous_standby_names') = '') AS standbys`,
  )
  return {
    version: Number(row?.version),
    encoding: row?.encoding ?? '',
    clockAhead: await clockAhead(db),
    connectionLimits: await connectionLimits(db),
    unsafeSettings: row?.unsafe ?? [],
    isEncrypted: row?.encrypted ?? false,
    standbysBehind: row?.standbys ?? 0,
    replica: replicaUrl === null ? null : await inspectReplica(db, replicaUrl),
  }
}

/**
 * An ordinary role sees little more of others' connections than their database and role. The setting
 * reserved_connections exists since PostgreSQL 16. A limit of -1 means none.
 */
const connectionLimits = (db: Connection): Promise<ConnectionLimit[]> =>
  db.rows<{ of: ConnectionLimit['of']; max: number; used: number }>(
    `SELECT 'server' AS of,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
         - coalesce(current_setting('reserved_connections', true)::int, 0) AS max,
       (SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL) AS used
     UNION ALL SELECT 'role', rolconnlimit, (SELECT count(*) FROM pg_stat_activity WHERE usename = current_user)
       FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0
     UNION ALL SELECT 'database', datconnlimit, (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())
       FROM pg_database WHERE datname = current_database() AND datconnlimit >= 0`,
  )

/** @returns ms, as if the server had answered in the middle of the round trip */
async function clockAhead(db: Connection): Promise<number> {
  const sent = Date.now()
  const [row] = await db.rows<{ now: number }>(
    'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
  )
  return Math.round((row?.now ?? sent) - (sent + Date.now()) / 2)
}

async function inspectReplica(primary: Connection, url: string): Promise<ReplicaFacts> {
  try {
    return await reading(url, db => compare(primary, db))
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return { kind: 'unreachable', reason: error.message }
  }
}

async function compare(primary: Connection, db: Connection): Promise<ReplicaFacts> {
  const store = 'SELECT store FROM state'
  const [written] = await primary.rows<{ at: string }>('SELECT CAST(pg_current_wal_lsn() AS text) AS at')
  const [row] = await db.rows<{ standby: boolean; bytes: number | null; seconds: number | null }>(
    `SELECT pg_is_in_recovery() AS standby,
       pg_wal_lsn_diff(CAST($1 AS pg_lsn), pg_last_wal_replay_lsn())::float8 AS bytes,
       extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 AS seconds`,
    written?.at ?? '0/0',
  )
  if (!row?.standby) return { kind: 'no-replica', reason: 'it is no replica: it takes writes' }
  const [here] = await primary.rows<{ store: string }>(store)
  const there = (await versionOf(db)) && (await db.rows<{ store: string }>(store))[0]?.store
  if (here?.store !== there) return { kind: 'no-replica', reason: 'it holds another store, or none' }
  return { kind: 'replica', bytesBehind: Math.max(0, row.bytes ?? 0), secondsBehind: row.seconds }
}
