import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Entity, Field, Page, ReadRule } from '../model/entities.ts'
import type { Viewer } from '../model/readers.ts'
import type { RecordFormat } from '../model/record-format.ts'

/** What every engine does with entities and their records (contract section 6). */
export interface Entities {
  /** Every entity, the built-in ones and the imported ones, by name. */
  all(): Awaitable<ReadonlyMap<string, Entity>>
  /** Runs a plan. The right to read the entity was decided before; of its rows, those are shown that the viewer may see. */
  list(
    entity: Entity,
    page: Page,
    viewer: Viewer,
    format: RecordFormat,
    clientSignal: ClientSignal,
  ): Promise<Listing>
  /** Makes the records the entity's, in one step: readers see the old ones until then. */
  publish(entity: NewEntity, records: Iterable<string>, event: AuditEvent): Promise<void>
  drop(name: string, event: AuditEvent): Promise<boolean>
  /** Makes a table of somebody else's an entity; undefined where the store has no such tables. */
  readonly expose: Expose | undefined
  /** A folder for work that is thrown away afterwards. */
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
  readonly read: ReadRule
  /** null: all columns. */
  readonly fields: readonly string[] | null
}

/** A table can't be exposed as it was asked for; the message says why and what would help. */
export class ExposeError extends Error {}

/** An imported entity. Records come in the order of the key: the first is number 0. */
export interface NewEntity {
  readonly name: string
  readonly key: string
  readonly fields: readonly Field[]
  readonly read: ReadRule
  /** For a field: of each record, by number, the place of its value among the field's distinct values; nulls last. */
  ranks(field: number): Uint32Array
}

export interface Listing {
  /** Records that the caller may see, without limit and offset; known when it was asked for. */
  readonly total: number | undefined
  /** Whether records follow this page; known when a limit is set. */
  readonly more: boolean | undefined
  /** Records joined by the separator of the shape (`,` or a line end), whole or in pieces. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

/** @returns a signal for when the client that asked has gone away, so that nobody works for it any more (Q10) */
export type ClientSignal = () => AbortSignal
