import type { EntityState } from '../model/snapshots.ts'

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

/** A state of an entity, or what has changed since, can't be read any more. */
export class StateGone extends Error {}
