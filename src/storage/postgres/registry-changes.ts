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
import type { Connection, Queries } from './driver.ts'
import { recordEvent } from './events.ts'

export const joined = 'metadata_field f JOIN metadata_schema s ON s.id = f.schema_id'

/** The changes of the registry of metadata. One at a time: fields are added to a schema that stays, and bounds hold. */
const alone = (db: Connection) => db.run('LOCK TABLE metadata_schema IN SHARE ROW EXCLUSIVE MODE')

export async function addMetadataSchema(
  db: Connection,
  wanted: WantedSchema,
  event: AuditEvent,
): Promise<MetadataSchema | 'exists' | 'full'> {
  await alone(db)
  const { prefix, namespace } = wanted
  const sql = 'SELECT 1 FROM metadata_schema WHERE prefix = $1 OR namespace = $2'
  if ((await db.rows(sql, prefix, namespace)).length > 0) return 'exists'
  if ((await count(db, 'metadata_schema')) >= maxSchemas) return 'full'
  const id = added(
    await db.rows(
      'INSERT INTO metadata_schema (prefix, namespace) VALUES ($1, $2) RETURNING id',
      prefix,
      namespace,
    ),
  )
  const schema = { id, prefix, namespace }
  await recordEvent(db, { ...event, object: prefix, changes: differences(undefined, schema) })
  return schema
}

export async function changeMetadataSchema(
  db: Connection,
  id: number,
  namespace: string,
  event: AuditEvent,
): Promise<MetadataSchema | 'exists' | undefined> {
  await alone(db)
  const before = await schemaIn(db, id)
  if (!before) return undefined
  const sql = 'SELECT 1 FROM metadata_schema WHERE namespace = $1 AND id <> $2'
  if ((await db.rows(sql, namespace, id)).length > 0) return 'exists'
  const schema = { ...before, namespace }
  await db.run('UPDATE metadata_schema SET namespace = $1 WHERE id = $2', namespace, id)
  await recordEvent(db, { ...event, object: schema.prefix, changes: differences(before, schema) })
  return schema
}

export async function removeMetadataSchema(db: Connection, id: number, event: AuditEvent): Promise<boolean> {
  await alone(db)
  const schema = await schemaIn(db, id)
  if (!schema) return false
  const rows = await db.rows<FieldRow>(
    `SELECT ${fieldColumns} FROM ${joined} WHERE f.schema_id = $1 ORDER BY f.name`,
    id,
  )
  await db.run('DELETE FROM metadata_field WHERE schema_id = $1', id)
  await db.run('DELETE FROM metadata_schema WHERE id = $1', id)
  for (const one of removalsOf(schema, rows.map(toField), event)) await recordEvent(db, one)
  return true
}

export async function addMetadataField(
  db: Connection,
  schemaId: number,
  wanted: WantedField,
  event: AuditEvent,
): Promise<MetadataField | 'exists' | 'full' | 'no-schema'> {
  await alone(db)
  const schema = await schemaIn(db, schemaId)
  if (!schema) return 'no-schema'
  const name = fieldName(schema, wanted)
  if ((await db.rows('SELECT 1 FROM metadata_field WHERE name = $1', name)).length > 0) return 'exists'
  if ((await count(db, 'metadata_field')) >= maxFields) return 'full'
  const id = added(
    await db.rows(
      `INSERT INTO metadata_field (schema_id, name, element, qualifier, scope_note)
       VALUES ($1, $2, $3, $4, $5) RETURNING id`,
      schemaId,
      name,
      wanted.element,
      wanted.qualifier,
      wanted.scopeNote,
    ),
  )
  const field = { id, schema, ...wanted }
  await recordEvent(db, { ...event, object: name, changes: differences(undefined, factsOf(field)) })
  return field
}

export async function changeMetadataField(
  db: Connection,
  id: number,
  scopeNote: string | null,
  event: AuditEvent,
): Promise<MetadataField | undefined> {
  await alone(db)
  const before = await fieldIn(db, id)
  if (!before) return undefined
  const field = { ...before, scopeNote }
  await db.run('UPDATE metadata_field SET scope_note = $1 WHERE id = $2', scopeNote, id)
  const changes = differences(factsOf(before), factsOf(field))
  await recordEvent(db, { ...event, object: fieldName(field.schema, field), changes })
  return field
}

export async function removeMetadataField(db: Connection, id: number, event: AuditEvent): Promise<boolean> {
  await alone(db)
  const field = await fieldIn(db, id)
  if (!field) return false
  await db.run('DELETE FROM metadata_field WHERE id = $1', id)
  await recordEvent(db, removalOf(field, event))
  return true
}

export async function schemaIn(db: Queries, id: number): Promise<MetadataSchema | undefined> {
  const [row] = await db.rows<SchemaRow>(`SELECT ${schemaColumns} FROM metadata_schema WHERE id = $1`, id)
  return row && toSchema(row)
}

export async function fieldIn(db: Queries, id: number): Promise<MetadataField | undefined> {
  const [row] = await db.rows<FieldRow>(`SELECT ${fieldColumns} FROM ${joined} WHERE f.id = $1`, id)
  return row && toField(row)
}

async function count(db: Queries, table: 'metadata_schema' | 'metadata_field'): Promise<number> {
  const [row] = await db.rows<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)
  return row?.count ?? 0
}

function added([row]: readonly Record<string, unknown>[]): number {
  if (typeof row?.id !== 'number') throw new Error('a row was not added')
  return row.id
}
