import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Entity, Field, Page, ReadRule } from '../model/entities.ts'
import type { Viewer } from '../model/readers.ts'
import type { RecordFormat } from '../model/record-format.ts'

/** Entities and their records, as every engine implements them (contract section 6). */
export interface Entities {
  /** All entities by name: built-in, imported and exposed. */
  all(): Awaitable<ReadonlyMap<string, Entity>>
  /** Lists a page. The caller has already checked who may read the entity; row visibility is applied here. */
  list(
    entity: Entity,
    page: Page,
    viewer: Viewer,
    format: RecordFormat,
    clientSignal: ClientSignal,
  ): Promise<Listing>
  /**
   * Replaces the entity's records in one step: readers see the old ones until then.
   * @returns who may read the entity now
   */
  publish(entity: NewEntity, records: Iterable<string>, event: AuditEvent): Promise<ReadRule>
  /**
   * Changes who may read an imported or exposed entity, on all nodes at once.
   * @returns false where there is no such entity
   */
  changeReadRule(name: string, read: ReadRule, event: AuditEvent): Promise<boolean>
  drop(name: string, event: AuditEvent): Promise<boolean>
  /** Makes one of the operator's tables an entity; undefined if the engine can't. */
  readonly expose: Expose | undefined
  /** A folder for temporary files. */
  readonly scratchFolder: string
}

export type Expose = (request: ExposeRequest, event: AuditEvent) => Promise<Entity>

export interface ExposeRequest {
  /** Of the entity. */
  readonly name: string
  readonly schema: string
  /** Or view. */
  readonly table: string
  /** null: the primary key. */
  readonly key: readonly string[] | null
  /** null: the rule that the entity has; a new entity is for administrators (D7). */
  readonly read: ReadRule | null
  /** null: all columns. */
  readonly fields: readonly string[] | null
}

/** A table can't be exposed as requested. The message says why, and what would help. */
export class ExposeError extends Error {}

/** An imported entity. Records come in the order of the key, numbered from 0. */
export interface NewEntity {
  readonly name: string
  readonly key: Entity['key']
  readonly fields: readonly Field[]
  /** null: the rule that the entity has; a new entity is for administrators (D7). */
  readonly read: ReadRule | null
  /** For each record, by number, the rank of its value among the field's distinct values; nulls last. */
  ranks(field: number): Awaitable<Uint32Array>
}

export interface Listing {
  /** How many records the caller may see, ignoring limit and offset; undefined unless it was requested. */
  readonly total: number | undefined
  /** Whether records follow this page; undefined without a limit. */
  readonly more: boolean | undefined
  /** Records joined by the separator of the format (`,` or a line break), whole or in pieces. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

/** @returns a signal that aborts when the client disconnects, so that work for it stops (Q10) */
export type ClientSignal = () => AbortSignal
