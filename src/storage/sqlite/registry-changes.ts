import { differences } from '../../lib/differences.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import {
  fieldName,
  type MetadataField,
  type MetadataSchema,
  maxFields,
  maxSchemas,
} from '../../model/metadata-registry.ts'
import type { WantedField, WantedSchema } from '../metadata-registry.ts'
import {
  type FieldRow,
  factsOf,
  fieldColumns,
  removalOf,
  removalsOf,
  type SchemaRow,
  schemaColumns,
  toField,
  toSchema,
} from '../statements/registry-rows.ts'
import type { Database } from './driver.ts'
import { recordEvent } from './events.ts'

export const joined = 'metadata_field f JOIN metadata_schema s ON s.id = f.schema_id'

/** The changes of the registry of metadata. */
export function addMetadataSchema(
  db: Database,
  wanted: WantedSchema,
  event: AuditEvent,
): MetadataSchema | 'exists' | 'full' {
  const { prefix, namespace } = wanted
  if (db.get('SELECT 1 FROM metadata_schema WHERE prefix = ? OR namespace = ?', prefix, namespace))
    return 'exists'
  if (count(db, 'metadata_schema') >= maxSchemas) return 'full'
  const id = added(
    db.get('INSERT INTO metadata_schema (prefix, namespace) VALUES (?, ?) RETURNING id', prefix, namespace),
  )
  const schema = { id, prefix, namespace }
  recordEvent(db, { ...event, object: prefix, changes: differences(undefined, schema) })
  return schema
}

export function changeMetadataSchema(
  db: Database,
  id: number,
  namespace: string,
  event: AuditEvent,
): MetadataSchema | 'exists' | undefined {
  const before = schemaIn(db, id)
  if (!before) return undefined
  if (db.get('SELECT 1 FROM metadata_schema WHERE namespace = ? AND id <> ?', namespace, id)) return 'exists'
  const schema = { ...before, namespace }
  db.run('UPDATE metadata_schema SET namespace = ? WHERE id = ?', namespace, id)
  recordEvent(db, { ...event, object: schema.prefix, changes: differences(before, schema) })
  return schema
}

export function removeMetadataSchema(db: Database, id: number, event: AuditEvent): boolean {
  const schema = schemaIn(db, id)
  if (!schema) return false
  const fields = db
    .all<FieldRow>(`SELECT ${fieldColumns} FROM ${joined} WHERE f.schema_id = ? ORDER BY f.name`, id)
    .map(toField)
  db.run('DELETE FROM metadata_field WHERE schema_id = ?', id)
  db.run('DELETE FROM metadata_schema WHERE id = ?', id)
  for (const one of removalsOf(schema, fields, event)) recordEvent(db, one)
  return true
}

export function addMetadataField(
  db: Database,
  schemaId: number,
  wanted: WantedField,
  event: AuditEvent,
): MetadataField | 'exists' | 'full' | 'no-schema' {
  const schema = schemaIn(db, schemaId)
  if (!schema) return 'no-schema'
  const name = fieldName(schema, wanted)
  if (db.get('SELECT 1 FROM metadata_field WHERE name = ?', name)) return 'exists'
  if (count(db, 'metadata_field') >= maxFields) return 'full'
  const id = added(
    db.get(
      'INSERT INTO metadata_field (schema_id, name, element, qualifier, scope_note) VALUES (?, ?, ?, ?, ?) RETURNING id',
      schemaId,
      name,
      wanted.element,
      wanted.qualifier,
      wanted.scopeNote,
    ),
  )
  const field = { id, schema, ...wanted }
  recordEvent(db, { ...event, object: name, changes: differences(undefined, factsOf(field)) })
  return field
}

export function changeMetadataField(
  db: Database,
  id: number,
  scopeNote: string | null,
  event: AuditEvent,
): MetadataField | undefined {
  const before = fieldIn(db, id)
  if (!before) return undefined
  const field = { ...before, scopeNote }
  db.run('UPDATE metadata_field SET scope_note = ? WHERE id = ?', scopeNote, id)
  const changes = differences(factsOf(before), factsOf(field))
  recordEvent(db, { ...event, object: fieldName(field.schema, field), changes })
  return field
}

export function removeMetadataField(db: Database, id: number, event: AuditEvent): boolean {
  const field = fieldIn(db, id)
  if (!field) return false
  db.run('DELETE FROM metadata_field WHERE id = ?', id)
  recordEvent(db, removalOf(field, event))
  return true
}

export function schemaIn(db: Database, id: number): MetadataSchema | undefined {
  const row = db.get<SchemaRow>(`SELECT ${schemaColumns} FROM metadata_schema WHERE id = ?`, id)
  return row && toSchema(row)
}

export function fieldIn(db: Database, id: number): MetadataField | undefined {
  const row = db.get<FieldRow>(`SELECT ${fieldColumns} FROM ${joined} WHERE f.id = ?`, id)
  return row && toField(row)
}

const count = (db: Database, table: 'metadata_schema' | 'metadata_field') =>
  db.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count ?? 0

function added(row: Record<string, unknown> | undefined): number {
  if (typeof row?.id !== 'number') throw new Error('a row was not added')
  return row.id
}
