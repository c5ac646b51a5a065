import { OperatorError } from '../lib/errors.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Entity, Field, ReadRule, Relation } from '../model/entities.ts'
import type { Description } from '../model/relations.ts'
import type { Window } from './storage.ts'

/** Tables of the operator's that can be shown as entities (docs/decisions/0009). */

export interface TableSearch extends Window {
  /** A part of the table's name with its schema. */
  readonly text: string
}

/** A table of the operator's that Carrel may read. */
export interface FoundTable {
  readonly schema: string
  readonly name: string
  readonly kind: 'table' | 'view' | 'materialized view' | 'foreign table'
  /** The columns of the primary key; empty: it has none. */
  readonly key: readonly string[]
  readonly fields: readonly Field[]
}

/** A foreign key, as a relation between the entities that show its tables. */
export interface ForeignKey extends Relation {
  readonly entity: string
}

export type Expose = (request: ExposeRequest, event: AuditEvent) => Promise<Entity>

export interface ExposeRequest {
  /** The name of the entity. */
  readonly name: string
  readonly schema: string
  /** The table or view. */
  readonly table: string
  /** null: the primary key. */
  readonly key: readonly string[] | null
  /** null: the rule that the entity has; a new entity is for administrators (D7). */
  readonly read: ReadRule | null
  /** null: all columns. */
  readonly fields: readonly string[] | null
  /**
   * Returns the declarations of the entity from now on; without it, the existing ones stay. It is called
   * before anything changes, and may throw to stop.
   */
  readonly declare?: (entity: Omit<Entity, 'read'>) => Description
  /** The tag that the entity must have, see `Entities.declare`; null: there must be no entity of this name. */
  readonly of?: string | null
  /**
   * True if reading the table ends at the time limit of statements, because a client waits for the answer.
   * Commands have no such limit.
   */
  readonly isBounded?: boolean
}

/** A table can't be exposed as requested. The message says why, and what would help. */
export class ExposeError extends OperatorError {}
