import type { Awaitable } from '../lib/awaitable.ts'
import type { Client } from '../lib/fair-queue.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Declared } from '../model/declared.ts'
import type { Entity, Field, ReadRule, WriteRule } from '../model/entities.ts'
import type { KeptVersion, Restored } from '../model/kept-versions.ts'
import type { Plan } from '../model/plan.ts'
import type { Viewer } from '../model/readers.ts'
import type { Recipe } from '../model/recipes.ts'
import type { RecordChange } from '../model/record-changes.ts'
import type { RecordFormat } from '../model/record-format.ts'
import type { Description, DescriptionChange } from '../model/relations.ts'
import type { EntityState } from '../model/snapshots.ts'
import type { Expose, ForeignKey, FoundTable, TableSearch } from './exposing.ts'
import type { ChangeBatch, FoundRecord, RecordEvent, Reliance } from './single-records.ts'
import type { Part } from './storage.ts'

/** Entities and their records, as every engine implements them (contract section 9). */
export interface Entities {
  /** All entities by name: built-in, imported and exposed. */
  all(): Awaitable<ReadonlyMap<string, Entity>>
  /**
   * Does what first questions would wait for if an entity has this many records or more.
   * @param ahead also has the files of all fields on this node's disk (docs/decisions/0091)
   * @returns the number of fields still without files
   */
  prepare(large: number, ahead?: FilesAhead): Promise<number>
  /**
   * Lists a page. The check of the plan has applied the read rules of its entities; row visibility is applied
   * here, to all of them.
   */
  list(plan: Plan, viewer: Viewer, format: RecordFormat, client: Client): Promise<Listing>
  /**
   * Explains how the plan would be run, as plain JSON (Q26). Viewers who aren't administrators only learn how
   * the query was understood.
   * @param runs true to run it and report the time it took
   */
  explain(
    plan: Plan,
    viewer: Viewer,
    client: Client,
    runs: boolean,
  ): Promise<Readonly<Record<string, unknown>>>
  /**
   * Replaces the entity's records in one step: readers see the old ones until then.
   * @param event null: the records stay the same, so there is nothing to record
   * @returns the entity's read rule; undefined if the version to replace is no longer the entity's
   */
  publish(entity: NewEntity, records: NewRecords, event: AuditEvent | null): Promise<ReadRule | undefined>
  /** Opens the version that an imported entity has now. */
  openVersion(entity: RecordEntity): Promise<OpenVersion>
  /** Returns the number of slots, from the first, whose records are the same in two versions of an entity. */
  sharedSlots(one: RecordEntity, other: RecordEntity): Awaitable<number>
  /**
   * Tells what has changed in an imported entity since a state, up to the one that it has (docs/decisions/0084).
   * @param since undefined: nothing is told but the state that it has
   * @throws StateGone if that can't be found out any more
   */
  changesSince(
    entity: RecordEntity,
    since: EntityState | undefined,
    client: Client,
  ): AsyncIterable<ChangeBatch>
  /** Replaces some records in one step, like `publish`; all others stay where they are. */
  revise(revision: Revision, event: AuditEvent | null): Promise<ReadRule | undefined>
  /**
   * Changes who may read an imported or exposed entity, on all nodes at once.
   * @returns false where there is no such entity
   */
  changeReadRule(name: string, read: ReadRule, event: AuditEvent): Promise<boolean>
  /**
   * Changes who may write single records of an imported entity, on all nodes at once.
   * @param write null: no one may
   * @returns false where there is no such imported entity
   */
  changeWriteRule(name: string, write: WriteRule | null, event: AuditEvent): Promise<boolean>
  /**
   * Reads one record by its key. The entity's default condition does not apply (Q25).
   * @param plan whose condition is that key, of an imported entity
   * @param key makes the name of `recordKey`, which is needed only if records of the version were changed
   */
  record(plan: Plan, key: () => string, client: Client): Promise<FoundRecord>
  /** @throws Lagging if new versions lag so far behind what is written that no record can be written */
  requireRoom(entity: RecordEntity): void
  /**
   * Writes one record, durably and visibly to all requests at once (docs/decisions/0041).
   * @returns false where the record or the version of the entity has changed since they were read
   * @throws Lagging as `requireRoom`
   */
  writeRecord(write: RecordWrite, event: AuditEvent): Promise<boolean>
  /**
   * Writes several records in one step, all or none, each with its event.
   * @param entity as it was when the records were read
   * @returns false where one of the records or the version of the entity has changed since
   */
  writeTogether(
    entity: RecordEntity,
    writes: readonly Omit<RecordWrite, 'entity' | 'before'>[],
    events: readonly AuditEvent[],
  ): Promise<boolean>
  /**
   * The events of a record that was written by itself, newest first.
   * @param object its name in the audit trail
   * @param before the id of an event: only those that came earlier; null: all
   */
  history(object: string, before: number | null, limit: number): Awaitable<readonly RecordEvent[]>
  /**
   * Changes some declarations of an imported or exposed entity, on all nodes at once.
   * @returns false where there is no such entity
   */
  describe(name: string, change: DescriptionChange, event: AuditEvent): Promise<boolean>
  /**
   * Replaces all declarations of an imported or exposed entity, in one step and on all nodes at once.
   * @param of the tag (`entityTag`) of the entity that the declarations were made for
   * @param relies what was seen of records when they were checked
   * @returns `changed` where the entity has another tag by now, or what was seen doesn't hold any more
   */
  declare(
    name: string,
    declared: Declared,
    of: string,
    event: AuditEvent,
    relies?: readonly Reliance[],
  ): Promise<'declared' | 'changed' | 'missing'>
  /**
   * @param of the tag that the entity must have; undefined: any
   * @returns false where there is no such entity, `changed` where it has another tag by now
   */
  drop(name: string, event: AuditEvent, of?: string): Promise<boolean | 'changed'>
  /** Versions that imports have replaced and that can be restored (docs/decisions/0071), newest first. */
  versions(name: string): Awaitable<readonly KeptVersion[]>
  /**
   * Points an imported entity at a kept version, in one step and on all nodes at once. Its version before is
   * kept in turn, and what is declared of it stays.
   * @param of the tag that the entity must have; undefined: any
   */
  restore(name: string, id: number, event: AuditEvent, of?: string): Promise<Restored>
  /** Names the state that an imported entity is in. */
  state(entity: RecordEntity): EntityState
  /**
   * Finds an imported entity in an earlier state of its records (docs/decisions/0082). What is declared of it stays as it
   * is now.
   * @param now the entity as it is now
   * @returns undefined if the state can't be read any more
   */
  at(now: RecordEntity, state: EntityState): Promise<RecordEntity | undefined>
  /** Makes one of the operator's tables an entity; undefined if the engine can't. */
  readonly expose: Expose | undefined
  /** Tables and views that can be exposed, by name; undefined if the engine has no such tables. */
  readonly tables: ((search: TableSearch) => Promise<Part<FoundTable>>) | undefined
  /**
   * The foreign keys between the table of an exposed entity and those of others, in both directions, where
   * all of their columns are shown; undefined if the engine has no such tables.
   */
  readonly foreignKeys: ((name: string) => Promise<readonly ForeignKey[]>) | undefined
  /** A folder for temporary files. */
  readonly scratchFolder: string
  /** True if files with what is known of fields are kept beside a version that is published. */
  readonly keepsFields: boolean
}

export interface RecordWrite extends Omit<RecordChange, 'seq'> {
  /** The entity as it was when the record was read. */
  readonly entity: RecordEntity
  /** The `seq` of the record that was read. */
  readonly before: number
  /** What was seen of other records, which must still hold. */
  readonly relies?: readonly Reliance[]
}

/** The JSON of records, one by one or in batches. */
export type NewRecords = Iterable<string> | AsyncIterable<readonly string[]>

/** The state that an entity must still have when its records are replaced. */
export interface Agreed {
  /** The version in its source; null: there are no imported records of this name. */
  readonly version: string | null
  /** Single records that may have been written since. */
  readonly changes: number
  /** The declarations of fields that it must still have, as JSON; undefined: any. */
  readonly declared?: string
  /** What was seen of other entities. */
  readonly relies?: readonly Reliance[]
}

/** An imported entity. Records come in the order of the key, numbered from 0. */
export interface NewEntity {
  readonly name: string
  readonly key: Entity['key']
  readonly fields: readonly Field[]
  /** null: the rule that the entity has; a new entity is for administrators (D7). */
  readonly read: ReadRule | null
  /** The version that it replaces; null: there must be no entity of this name; undefined: whichever there is. */
  readonly replaces?: string | null
  /**
   * Called before anything is written, and again if the entity has changed since. It may throw to stop. Never
   * given together with `replaces`.
   */
  readonly agree?: () => Promise<Agreed>
  /** What was seen of other entities, given together with `replaces`. */
  readonly relies?: readonly Reliance[]
  /**
   * Given if the records are those of the version that it replaces, so that single records written since stay: the
   * number of changes of single records that are in both. The store must have as many.
   */
  readonly keepsNewer?: number
  /** Declarations of the entity from now on; those that are absent stay as they are by then. */
  readonly declare?: Description
  /** The declarations that the entity must still have (`fieldUses`), given together with `replaces`. */
  readonly uses?: string
  /** The recipe of the entity from now on; null: none; undefined: the existing one stays. */
  readonly recipe?: Recipe | null
  /**
   * For each record, by number, the rank of its value among the field's distinct values; nulls last. The
   * array may be used again for the next field.
   */
  ranks(field: number): Awaitable<Uint32Array>
  /**
   * Writes what is known of the fields of a version to files (docs/decisions/0070), as far as that is easy; the
   * engine reads the values of the others when they are first asked for.
   * @returns the folder of these files, which the engine moves to its place
   */
  writeFields?(version: string): Promise<string>
}

/** The files of fields that a node has before it is asked. */
export interface FilesAhead {
  /** Ends it at once: files still missing are fetched or derived by the first question. */
  readonly signal: AbortSignal
  /** Called once, with the number of fields. */
  readonly begun: (fields: number) => void
  /** Called for each field whose files can't be had. */
  readonly failed: (field: string, error: Error) => void
}

export type RecordEntity = Entity & { readonly source: { readonly kind: 'records' } }
/** A plan on the records of an imported entity. */
export type RecordPlan = Plan & { readonly entity: RecordEntity }

/** A version of an imported entity, of which some records are to be changed (docs/decisions/0019). */
export interface OpenVersion {
  /** The slot of each record, in the order of the key. */
  slots(): Awaitable<Uint32Array>
  /** Ranks, see `NewEntity.ranks`. */
  ranks(field: number): Awaitable<Uint32Array>
  /** Number of distinct values of a field, needed where its definition doesn't tell the rank of nulls. */
  distinct?(field: number): Awaitable<number>
  /** The JSON of the records in these slots. */
  read(slots: Uint32Array): Awaitable<readonly string[]>
  /**
   * Writes the files of fields, as `NewEntity.writeFields` does, for a new version.
   * @param changed what the new version has otherwise; undefined: the same records and fields
   * @param signal ends it
   */
  readonly writeFields: (
    version: string,
    changed: RevisedRecords | undefined,
    signal: AbortSignal,
  ) => Promise<string>
  close(): Awaitable<void>
}

/** The differences between a new version and the one that it is made from. */
export interface RevisedRecords {
  readonly fields: readonly Field[]
  /** Edits of the records, in the order of the key; each names one of `written`. */
  readonly edits: readonly RecordEdit[]
  readonly written: readonly WrittenRecord[]
}

export interface RecordEdit {
  /** The number of the record, or of the one that it would come before. */
  readonly at: number
  readonly isThere: boolean
  /** The index of the new record among those that are written; -1: it was deleted. */
  readonly written: number
}

interface WrittenRecord {
  readonly json: string | null
  readonly record: Readonly<Record<string, unknown>> | null
}

/** A version that shares its other records with the one that it is made from. */
export interface Revision extends Omit<NewEntity, 'replaces' | 'agree' | 'declare' | 'recipe'> {
  readonly of: RecordEntity
  /** The slot of each record, in the order of the key. */
  readonly slots: Uint32Array
  /** The records in the new slots, which follow those of the other version. */
  readonly added: readonly string[]
}

export interface Listing {
  /** Number of records or rows, ignoring limit and offset; undefined unless it was requested. */
  readonly total: number | undefined
  /** True if records follow this page; undefined without a limit. */
  readonly more: boolean | undefined
  /** Records joined by the separator of the format (`,` or a line break), whole or in pieces. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}
