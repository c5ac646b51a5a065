import type { AuditEvent } from '../model/audit-events.ts'
import type { Eperson, Group, Session } from '../model/caller.ts'
import type { Viewer } from '../model/readers.ts'
import type { ProviderSession, SignOn } from './identities.ts'
import type { Repository } from './repository.ts'

/**
 * The storage interface (docs/decisions/0002). An engine implements it whole; features know only this file.
 * Reads on the path of every request may answer at once (`Awaitable`), writes are promises that are kept only
 * when the change is on disk: what was acknowledged is never lost.
 */
export interface Storage {
  readonly accounts: Accounts
  readonly entities: Entities
  readonly repository: Repository
  readonly secrets: Secrets
  readonly signOn: SignOn
  /** Rejects with `StoreUnavailable` when the store does not answer. */
  ping(): Awaitable<void>
  close(): Promise<void>
}

export type Awaitable<T> = T | Promise<T>

/** The store can't be reached, is locked or full: the request may be repeated later. Nothing is done by half. */
export class StoreUnavailable extends Error {}

// Accounts ---------------------------------------------------------------------------------------------------

export interface Accounts {
  /** The stamp of an enabled eperson; undefined when there is none. Asked on every authenticated request. */
  stampOf(uuid: string): Awaitable<number | undefined>
  /** undefined: no such eperson, or it is disabled. */
  session(uuid: string): Awaitable<Session | undefined>
  /** Also when it is disabled. */
  eperson(uuid: string): Awaitable<Eperson | undefined>
  /** @param email in any case */
  credentials(email: string): Awaitable<Credentials | undefined>
  groupsByUuid(uuids: readonly string[]): Awaitable<readonly Group[]>
  /** The groups of these names, created where they don't exist, in the order given. */
  ensureGroups(names: readonly string[]): Promise<readonly Group[]>

  /**
   * A password was right: keep the event and, if given, the renewed hash.
   * @returns the session to make the token with; undefined when the eperson was disabled or deleted or its
   *   password changed since `credentials` was read
   */
  recordLogin(login: Login, event: AuditEvent): Promise<Session | undefined>
  /** Replaces the session key: every token of the eperson ends (T4). @returns the last session that began at a provider */
  logout(uuid: string, event: AuditEvent): Promise<ProviderSession | undefined>
  recordEvent(event: AuditEvent): Promise<void>

  addEperson(eperson: NewEperson, event: AuditEvent): Promise<Eperson | 'exists'>
  /** Ends the eperson's tokens when it disables (T6). */
  setEnabled(email: string, enabled: boolean, event: AuditEvent): Promise<Changed>
  /**
   * Ends the eperson's tokens (T6).
   * @param checked the password that was asked for before; `unchanged`, and no event, when it is another one by now
   */
  setPassword(email: string, passwordHash: string, event: AuditEvent, checked?: Checked): Promise<Changed>
  deleteEperson(email: string, event: AuditEvent): Promise<Changed>
  addGroup(name: string, event: AuditEvent): Promise<Group | 'exists'>
  join(group: string, email: string, event: AuditEvent): Promise<Changed | 'no-group'>
  leave(group: string, email: string, event: AuditEvent): Promise<Changed | 'no-group'>
  listEpersons(): Awaitable<readonly ListedEperson[]>
  listGroups(): Awaitable<readonly ListedGroup[]>
}

export type Changed = 'changed' | 'unchanged' | 'no-eperson'

export interface Credentials {
  readonly uuid: string
  readonly enabled: boolean
  /** In PHC string format; null: an account without a password. */
  readonly passwordHash: string | null
  /** Another one when the password was changed. */
  readonly passwordStamp: number
}

/** As `credentials` gave it: the password that was checked. */
export type Checked = Pick<Credentials, 'uuid' | 'passwordStamp'>

export interface Login extends Checked {
  /** With today's parameters, when the old one had weaker ones. */
  readonly renewedHash: string | null
}

export interface NewEperson {
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly passwordHash: string | null
  readonly administrator: boolean
}

export interface ListedEperson extends Eperson {
  readonly groups: readonly string[]
}

export interface ListedGroup extends Group {
  readonly members: number
}

// Entities ---------------------------------------------------------------------------------------------------
export interface Entities {
  /** Every entity, the built-in ones and the imported ones, by name. */
  all(): Awaitable<ReadonlyMap<string, Entity>>
  /** Runs a plan. The right to read the entity was decided before; of its rows, those are shown that the viewer may see. */
  list(entity: Entity, page: Page, viewer: Viewer, shape: Shape, gone: Gone): Promise<Listing>
  /** Makes the records the entity's, in one step: readers see the old ones until then. */
  publish(entity: NewEntity, records: Iterable<string>, event: AuditEvent): Promise<void>
  drop(name: string, event: AuditEvent): Promise<boolean>
  /** Makes a table of somebody else's an entity; undefined where the store has no such tables. */
  readonly expose: Expose | undefined
  /** A folder for work that is thrown away afterwards. */
  readonly scratchFolder: string
}

/** @returns a signal for when the client that asked has gone away, so that nobody works for it any more (Q10) */
export type Gone = () => AbortSignal

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

export type FieldType = 'integer' | 'number' | 'boolean' | 'date-time' | 'text' | 'json'

export interface Field {
  readonly name: string
  readonly type: FieldType
  readonly nullable: boolean
  /** Only where it is false: values without an order. */
  readonly sortable?: false
}

export interface Entity {
  readonly name: string
  /** The field, or the fields together, that tell records apart: the last word in every order (Q6). */
  readonly key: string | readonly string[]
  readonly fields: readonly Field[]
  readonly read: ReadRule
  readonly source: Source
}

/** Where the records are; opaque to features. */
export type Source =
  | TableSource
  | {
      readonly kind: 'records'
      readonly version: string
      readonly count: number
      readonly bytes: number
      readonly largest: number
    }
  | {
      readonly kind: 'exposed'
      readonly schema: string
      readonly table: string
      /** Fields whose values are compared as text, by code point (Q6), whatever the type of the column. */
      readonly asText: readonly string[]
    }

export interface TableSource {
  readonly kind: 'table'
  readonly table: string
  readonly rows: RowRule
}

/** Which rows of a table somebody sees who is no administrator: all, those of audiences, or those about oneself. */
export type RowRule = 'all' | 'audience' | 'own'

export type ReadRule = 'anonymous' | 'eperson' | 'admin' | `group:${string}`

/** An imported entity. Records come in the order of the key: the first is number 0. */
export interface NewEntity {
  readonly name: string
  readonly key: string
  readonly fields: readonly Field[]
  readonly read: ReadRule
  /** For a field: of each record, by number, the place of its value among the field's distinct values; nulls last. */
  ranks(field: number): Uint32Array
}

export interface Order {
  readonly field: string
  readonly descending: boolean
}

/** What a list request asks for, with every value known to be good. */
export interface Page {
  readonly order: readonly Order[]
  readonly offset: number
  readonly limit: number | null
  /** Whether the total is asked for. */
  readonly total: boolean
}

export type Shape = 'json' | 'ndjson' | 'csv'

export interface Listing {
  /** Records that the caller may see, without limit and offset; known when it was asked for. */
  readonly total: number | undefined
  /** Whether records follow this page; known when a limit is set. */
  readonly more: boolean | undefined
  /** Records joined by the separator of the shape (`,` or a line end), whole or in pieces. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
}

// Secrets ----------------------------------------------------------------------------------------------------
export interface Secrets {
  /** Newest first. New tokens are made with the first, all are accepted (T7). */
  current(): readonly Uint8Array[]
  /** Adds a new first secret. @returns how many are accepted now */
  rotate(event: AuditEvent): Promise<number>
}
