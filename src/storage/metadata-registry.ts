import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { MetadataField, MetadataSchema } from '../model/items.ts'
import type { Part, Window } from './window.ts'

/** The registry of metadata (docs/decisions/0052). Each change records an event with the differences. */
export interface MetadataRegistry {
  /** A page of the schemas, by prefix. */
  schemas(window: Window): Awaitable<Part<MetadataSchema>>
  schema(id: number): Awaitable<MetadataSchema | undefined>
  /** A page of the fields that a search finds, by name. */
  fields(search: FieldSearch, window: Window): Awaitable<Part<MetadataField>>
  field(id: number): Awaitable<MetadataField | undefined>
  addSchema(wanted: WantedSchema, event: AuditEvent): Promise<MetadataSchema | 'exists' | 'full'>
  changeSchema(
    id: number,
    namespace: string,
    event: AuditEvent,
  ): Promise<MetadataSchema | 'exists' | undefined>
  /** Removes a schema with its fields. @returns false if there was no such schema */
  removeSchema(id: number, event: AuditEvent): Promise<boolean>
  addField(
    schema: number,
    wanted: WantedField,
    event: AuditEvent,
  ): Promise<MetadataField | 'exists' | 'full' | 'no-schema'>
  changeField(id: number, scopeNote: string | null, event: AuditEvent): Promise<MetadataField | undefined>
  /** @returns false if there was no such field */
  removeField(id: number, event: AuditEvent): Promise<boolean>
}

export type WantedSchema = Omit<MetadataSchema, 'id'>
export type WantedField = Omit<MetadataField, 'id' | 'schema'>

/** Conditions that must all hold. */
export interface FieldSearch {
  /** The prefix of its schema. */
  readonly schema?: string | undefined
  readonly element?: string | undefined
  readonly qualifier?: string | undefined
  /** The whole name. */
  readonly name?: string | undefined
  /** In lower case: the beginning of the name, or of the part after one of its dots. */
  readonly begins?: string | undefined
}
