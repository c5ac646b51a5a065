import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { MetadataField, MetadataSchema } from '../model/metadata-registry.ts'
import type { Part, Window } from './window.ts'

/** The registry of metadata (docs/decisions/0052). Each change is an event with what differs. */
export interface MetadataRegistry {
  /** By prefix. */
  schemas(window: Window): Awaitable<Part<MetadataSchema>>
  schema(id: number): Awaitable<MetadataSchema | undefined>
  /** By name. */
  fields(search: FieldSearch, window: Window): Awaitable<Part<MetadataField>>
  field(id: number): Awaitable<MetadataField | undefined>
  addSchema(wanted: WantedSchema, event: AuditEvent): Promise<MetadataSchema | 'exists' | 'full'>
  changeSchema(
    id: number,
    namespace: string,
    event: AuditEvent,
  ): Promise<MetadataSchema | 'exists' | undefined>
  /** Removes it with its fields. @returns whether it was there */
  removeSchema(id: number, event: AuditEvent): Promise<boolean>
  addField(
    schema: number,
    wanted: WantedField,
    event: AuditEvent,
  ): Promise<MetadataField | 'exists' | 'full' | 'no-schema'>
  changeField(id: number, scopeNote: string | null, event: AuditEvent): Promise<MetadataField | undefined>
  /** @returns whether it was there */
  removeField(id: number, event: AuditEvent): Promise<boolean>
}

export type WantedSchema = Omit<MetadataSchema, 'id'>
export type WantedField = Omit<MetadataField, 'id' | 'schema'>

/** All that is given must hold. */
export interface FieldSearch {
  /** The prefix of its schema. */
  readonly schema?: string | undefined
  readonly element?: string | undefined
  readonly qualifier?: string | undefined
  /** The whole name. */
  readonly name?: string | undefined
  /** In lower case: how the name begins, or what follows one of its dots. */
  readonly begins?: string | undefined
}
