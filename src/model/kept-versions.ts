import type { AuditEvent } from './audit-events.ts'
import type { Entity } from './entities.ts'

/**
 * Limits of the versions that are kept after an import has replaced them (docs/decisions/0071), and of those that are
 * held for snapshots (docs/decisions/0082).
 */
export interface KeptVersionLimits {
  /** Time in days for which a version is kept; 0: none is. */
  readonly days: number
  /** Maximum size in bytes of all kept versions. */
  readonly bytes: number
  readonly held: {
    /** Time in ms for which a replaced version is held; 0: none is. */
    readonly time: number
    /** Maximum size in bytes of all held versions. */
    readonly bytes: number
  }
}

/** A version of an imported entity that was replaced and can be restored. */
export interface KeptVersion {
  /** Its number in the store. */
  readonly id: number
  /** Time in RFC 3339, UTC. */
  readonly replaced: string
  /** The event that replaced it. */
  readonly replacedBy: AuditEvent['event']
  /** The time until which it is kept, unless others take its place. */
  readonly until: string
  readonly key: Entity['key']
  readonly fields: Entity['fields']
  readonly records: number
  /** Its size in bytes, as it counts against the limit. */
  readonly bytes: number
}

/**
 * The result of a restore. `missing`: there is no such imported entity. `unknown`: it has no such version any more.
 * `changed`: it has another tag by now.
 */
export type Restored = 'restored' | 'changed' | 'missing' | 'unknown'
