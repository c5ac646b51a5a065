import { databaseAddress, type SessionKind } from '../../lib/database-address.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import type { SealingKey } from './chains.ts'

/** A connection, as far as a watch needs it. */
export interface Reads {
  rows<T extends Record<string, unknown>>(sql: string, ...values: readonly string[]): Promise<T[]>
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
  admit(db: Reads): Promise<number>
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
  /** True if a standby won't do, whatever the address says. */
  readonly isPrimary?: boolean
  /** Watches for a database that went back. Connections of an earlier generation are replaced before they are used. */
  readonly watch?: ServerWatch
}

/** The servers of an address, which are tried in turn. The one that fitted last is tried first. */
export interface Servers {
  readonly count: number
  readonly session: SessionKind
  current(): string
  /** Goes on to the next server, unless another connection has done so. */
  failed(server: string): void
}

/** By address, so that all connections of an event loop begin with the one that fitted last. */
const known = new RecentlyUsed<string, Servers>(100)

export function serversOf(url: string): Servers {
  const found = known.get(url)
  if (found) return found
  const { servers, session } = databaseAddress(url)
  let at = 0
  const current = () => servers[at] ?? ''
  const made: Servers = {
    count: servers.length,
    session,
    current,
    failed: server => {
      if (server === current()) at = (at + 1) % servers.length
    },
  }
  known.add(url, made)
  return made
}

/** Opens a connection, each server being tried once. @param open tells `servers` of one that fails */
export async function tryEach<T>(servers: Servers, open: () => Promise<T>): Promise<T> {
  for (let left = servers.count; ; left--) {
    const server = servers.current()
    try {
      return await open()
    } catch (error) {
      if (left === 1 || server === servers.current()) throw error
    }
  }
}

/** SQL that is true for a session of the kind, with which libpq compares the same. */
const fits: Readonly<Record<SessionKind, string>> = {
  any: 'true',
  'read-write': "current_setting('transaction_read_only') = 'off'",
  'read-only': "current_setting('transaction_read_only') = 'on'",
  primary: 'NOT pg_is_in_recovery()',
  standby: 'pg_is_in_recovery()',
}

/** The message that refuses a standby. */
export const standbyRefused =
  'the database is a standby: point CARREL_DATABASE_URL to the primary, or promote this one'

/**
 * Repeatable read would not see what a lock was waited for, nor conflict with it; serializable transactions conflict, and
 * are made again.
 */
const requireLaterSnapshots = `SELECT set_config('default_transaction_isolation', 'serializable', false)
  WHERE current_setting('default_transaction_isolation') = 'repeatable read'`

type Setup = Pick<ConnectionOptions, 'statementTimeout' | 'setup' | 'isForeign'>

/** SQL that sets a session up. The first statement tells the server process, and whether the session fits. */
export const settingUp = ({ statementTimeout, setup, isForeign }: Setup, session: SessionKind): string =>
  [
    `SELECT pg_backend_pid() AS id, ${fits[session]} AS fits`,
    `SET statement_timeout = ${statementTimeout}`,
    ...(isForeign ? [] : ['SET search_path = carrel', requireLaterSnapshots]),
    ...(setup === '' ? [] : [setup]),
  ].join('; ')
