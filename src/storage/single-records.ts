import { OperatorError } from '../lib/errors.ts'
import type { Field } from '../model/entities.ts'
import type { EntityState } from '../model/snapshots.ts'

export interface FoundRecord {
  /** undefined: there is none. */
  readonly json: string | undefined
  /** The number of its last change that is not in the stored version; 0: none. */
  readonly seq: number
}

/** A state that a change was checked against. Any new version of the entity ends it (docs/decisions/0076). */
export interface Reliance {
  readonly entity: string
  /** The version in its source, single records included. */
  readonly version: string
  /** `kept`: no record was deleted. `unwritten`: none was written with one of these values, except those with these names. */
  readonly since:
    | { readonly kind: 'kept' }
    | {
        readonly kind: 'unwritten'
        /** Without a field, no record was written at all. */
        readonly field?: Pick<Field, 'name' | 'type' | 'collation'>
        /** As `orderOf` names them. */
        readonly values?: readonly string[]
        readonly except?: readonly string[]
      }
}

/** A write of a single record, as the audit trail has it. */
export interface RecordEvent {
  readonly id: number
  readonly time: string
  readonly event: string
  /** The email address of who has written it; null: the account is gone, or it was a command. */
  readonly actor_email: string | null
  /** What differs, as JSON; null: it was not recorded. */
  readonly changes: string | null
}

/** Changes of records, in their order. */
export interface ChangeBatch {
  readonly changes: readonly FollowedChange[]
  /** The state after these changes; undefined amid the differences of two versions. */
  readonly state?: EntityState
}

export interface FollowedChange {
  readonly kind: 'added' | 'changed' | 'deleted'
  /** The number of a change of a single record. */
  readonly seq?: number
  /** The values of the key fields, as a JSON array. */
  readonly key: string
  /** The record as JSON; null if it was deleted. */
  readonly json: string | null
}

/** A change of a single record, as the store has it. */
export interface FollowedRow {
  readonly seq: number
  readonly key_values: string
  readonly json: string | null
  readonly added: number
}

/** A rule names a group or an eperson that isn't there, or not any more. Nothing was done. */
export class UnknownReader extends OperatorError {}

/** The entity is no longer the one that a change was made for. */
export class EntityChanged extends Error {}

/** A state of an entity, or what has changed since, can't be read any more. */
export class StateGone extends Error {}
