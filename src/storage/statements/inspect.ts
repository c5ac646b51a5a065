import { administratorGroup } from '../../model/accounts.ts'
import { below } from './group-tree.ts'
import { heldSize } from './held-versions.ts'
import { trail } from './prune-trail.ts'
import type { Read } from './statements.ts'
import * as db from './statements.ts'

/** Facts about a store, read without opening it as a service does: reading changes nothing (D8). */
export interface StoreFacts {
  /** Number of migrations that the store lacks; below 0: its schema is newer. */
  readonly migrationsMissing: number
  /** Number of enabled epersons in the group of administrators, directly or in a group inside of it. */
  readonly administrators: number
  /** Time of the newest event of the trail, in ms since 1970; null: there is none. */
  readonly newestEvent: number | null
  /** Time of the newest backup among the `searchedEvents` newest events, in ms since 1970; null: none. */
  readonly newestBackup: number | null
  /** The size in bytes of the events that repeat, when it was last measured; null: its schema is older. */
  readonly repeatedEvents: number | null
  /** The size in bytes of the versions that are held for snapshots; null: its schema is older. */
  readonly heldVersions: number | null
  /** Time when the signing secret was made, in ms since 1970; null: unknown. */
  readonly secretMade: number | null
  /** Enabled epersons with an access token and no second factor, by address; null: its schema is older. */
  readonly tokensWithoutFactor: readonly TokenHolder[] | null
  /** True if it has bitstreams; false if its schema is not this Carrel's. */
  readonly hasFiles: boolean
  /** null: the embedded store. */
  readonly server: ServerFacts | null
}

interface TokenHolder {
  readonly email: string
  readonly isAdministrator: boolean
}

/** Number of newest events that are searched for a backup. */
const searchedEvents = 1_000_000

/** Facts about a database server. */
export interface ServerFacts {
  /** The value of `server_version_num`, such as 180000. */
  readonly version: number
  readonly encoding: string
  /** Time in ms by which its clock is ahead of this machine's. */
  readonly clockAhead: number
  /** Limits on the connections of a node. */
  readonly connectionLimits: readonly ConnectionLimit[]
  /** Settings with which a commit may be acknowledged before it is on disk. */
  readonly unsafeSettings: readonly string[]
  readonly isEncrypted: boolean
  /** Number of standbys for which no commit waits, so that they may lack the last ones (D20). */
  readonly standbysBehind: number
  /** null: none is configured. */
  readonly replica: ReplicaFacts | null
}

/**
 * Maximum and current number of connections: to the server by ordinary roles, of the role, or to the
 * database.
 */
export interface ConnectionLimit {
  readonly of: 'server' | 'role' | 'database'
  readonly max: number
  readonly used: number
}

export type ReplicaFacts =
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** The server takes writes, or holds another store. */
  | { readonly kind: 'no-replica'; readonly reason: string }
  | {
      readonly kind: 'replica'
      /** Bytes of the primary's log that it has yet to replay. */
      readonly bytesBehind: number
      /** Time in seconds since the newest transaction that it has; null: unknown. */
      readonly secondsBehind: number | null
    }

type Facts = Pick<
  StoreFacts,
  | 'administrators'
  | 'newestEvent'
  | 'newestBackup'
  | 'repeatedEvents'
  | 'heldVersions'
  | 'tokensWithoutFactor'
  | 'hasFiles'
>

/**
 * Facts that are read in the same way on both engines.
 * @param isCurrent false if the schema may be another one
 */
export function* factsOf(isCurrent: boolean): Read<Facts> {
  const administrators = yield* db.value<number>(
    `${below('SELECT uuid FROM epersongroup WHERE name = $1')} SELECT count(DISTINCT e.uuid) AS count FROM below
       JOIN membership m ON m.epersongroup = below.id JOIN eperson e ON e.uuid = m.eperson WHERE e.enabled = 1`,
    administratorGroup,
  )
  const event = yield* db.value<string>('SELECT time FROM event ORDER BY id DESC LIMIT 1')
  const backup = yield* db.value<string | null>(
    `SELECT max(time) AS time FROM (SELECT time, event, outcome FROM event ORDER BY id DESC LIMIT ${searchedEvents}) recent
     WHERE event = 'store.backup' AND outcome = 'success'`,
  )
  const file = isCurrent ? yield* db.row('SELECT 1 AS one FROM bitstream LIMIT 1') : undefined
  return {
    administrators: administrators ?? 0,
    newestEvent: toTime(event),
    newestBackup: toTime(backup),
    repeatedEvents: isCurrent ? yield* trail.reads.size() : null,
    heldVersions: isCurrent ? yield* heldSize() : null,
    tokensWithoutFactor: isCurrent ? yield* tokensWithoutFactor() : null,
    hasFiles: file !== undefined,
  }
}

function* tokensWithoutFactor(): Read<readonly TokenHolder[]> {
  const found = yield* db.rows<{ email: string; administrator: number }>(
    `${below('SELECT uuid FROM epersongroup WHERE name = $1')} SELECT e.email,
       CASE WHEN EXISTS (SELECT 1 FROM below JOIN membership m ON m.epersongroup = below.id WHERE m.eperson = e.uuid)
         THEN 1 ELSE 0 END AS administrator FROM eperson e
     WHERE e.enabled = 1 AND NOT EXISTS (SELECT 1 FROM factor f WHERE f.eperson = e.uuid) AND EXISTS
       (SELECT 1 FROM access_token t WHERE t.eperson = e.uuid AND t.password_stamp = e.password_stamp AND t.expires > $2)
     ORDER BY e.email LIMIT 1000`,
    administratorGroup,
    yield* db.clock(),
  )
  return found.map(({ email, administrator }) => ({ email, isAdministrator: administrator === 1 }))
}

/** @returns ms since 1970; null without a time */
export function toTime(text: string | null | undefined): number | null {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? null : time
}
