/** What an engine knows of its store without opening it as a service does: reading it changes nothing (D8). */
export interface StoreFacts {
  /** How far the store's schema is behind this Carrel's; below 0: it is newer. */
  readonly migrationsMissing: number
  /** Enabled epersons in the group of administrators. */
  readonly administrators: number
  /** When the newest event of the trail was recorded, in ms since 1970; null: there is none. */
  readonly newestEvent: number | null
  /** The same of the newest backup among the newest events. */
  readonly newestBackup: number | null
  /** When the secret that signs was made, in ms since 1970; null: unknown. */
  readonly secretMade: number | null
  /** Whether it has bitstreams; false if its schema is another one. */
  readonly hasFiles: boolean
  /** null: the embedded store. */
  readonly server: ServerFacts | null
}

/** How many events, from the newest on, are searched for a backup. */
export const searchedEvents = 1_000_000

/** What a database server says of itself. */
export interface ServerFacts {
  /** As in server_version_num: 180000. */
  readonly version: number
  readonly encoding: string
  /** How far its clock is ahead of this machine's, in ms. */
  readonly clockAhead: number
  /** What limits the connections of a node. */
  readonly connectionLimits: readonly ConnectionLimit[]
  /** Whether a commit is on disk when it is acknowledged: the settings that say otherwise. */
  readonly unsafeSettings: readonly string[]
  readonly isEncrypted: boolean
  /** null: none is configured. */
  readonly replica: ReplicaFacts | null
}

/** How many connections there may be at once, and are: to the server by ordinary roles, of this role, to this database. */
export interface ConnectionLimit {
  readonly of: 'server' | 'role' | 'database'
  readonly max: number
  readonly used: number
}

export type ReplicaFacts =
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** It takes writes, or holds another store. */
  | { readonly kind: 'no-replica'; readonly reason: string }
  | {
      readonly kind: 'replica'
      /** How much of the primary's log it has still to replay. */
      readonly bytesBehind: number
      /** Since the newest transaction that it knows; null: unknown. */
      readonly secondsBehind: number | null
    }
