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

export interface TokenHolder {
  readonly email: string
  readonly isAdministrator: boolean
}

/** Number of newest events that are searched for a backup. */
export const searchedEvents = 1_000_000

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
