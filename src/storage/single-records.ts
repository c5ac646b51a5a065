import { OperatorError } from '../lib/errors.ts'
import type { Field } from '../model/entities.ts'

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

/** A rule names a group or an eperson that isn't there, or not any more. Nothing was done. */
export class UnknownReader extends OperatorError {}

/** The entity is no longer the one that a change was made for. */
export class EntityChanged extends Error {}
