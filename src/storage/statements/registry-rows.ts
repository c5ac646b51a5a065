import type { AuditEvent } from '../../model/audit-events.ts'
import { fieldName, type MetadataField, type MetadataSchema } from '../../model/metadata-registry.ts'
import type { FieldSearch } from '../metadata-registry.ts'

/** Rows of the registry of metadata, the same on both engines. */
export const schemaColumns = 'id, prefix, namespace'
export const fieldColumns =
  'f.id, f.schema_id AS "schemaId", s.prefix, s.namespace, f.element, f.qualifier, f.scope_note AS "scopeNote"'

export type SchemaRow = MetadataSchema & Record<string, string | number>
export type FieldRow = {
  readonly id: number
  readonly schemaId: number
  readonly prefix: string
  readonly namespace: string
  readonly element: string
  readonly qualifier: string | null
  readonly scopeNote: string | null
}

export const toSchema = ({ id, prefix, namespace }: SchemaRow): MetadataSchema => ({ id, prefix, namespace })

export const toField = (row: FieldRow): MetadataField => ({
  id: row.id,
  schema: { id: row.schemaId, prefix: row.prefix, namespace: row.namespace },
  element: row.element,
  qualifier: row.qualifier,
  scopeNote: row.scopeNote,
})

/** What a search asks, in this order. */
export const askedOf = ({ schema, element, qualifier, name, begins }: FieldSearch) =>
  [schema, element, qualifier, name, begins && `.${begins}`].map(value => value || null)

/** What the trail says of a field. */
export const factsOf = ({ id, element, qualifier, scopeNote }: MetadataField) => ({
  id,
  element,
  qualifier,
  scopeNote,
})

/** The events of removing a schema: one for each of its fields, and its own. */
export const removalsOf = (
  schema: MetadataSchema,
  fields: readonly MetadataField[],
  event: AuditEvent,
): AuditEvent[] => [
  ...fields.map(field => removalOf(field, { ...event, event: 'metadata-field.delete' })),
  { ...event, object: schema.prefix, changes: { before: { ...schema }, after: null } },
]

export const removalOf = (field: MetadataField, event: AuditEvent): AuditEvent => ({
  ...event,
  object: fieldName(field.schema, field),
  changes: { before: factsOf(field), after: null },
})
