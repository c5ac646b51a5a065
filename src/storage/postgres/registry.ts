import type { MetadataRegistry } from '../metadata-registry.ts'
import {
  askedOf,
  type FieldRow,
  fieldColumns,
  type SchemaRow,
  schemaColumns,
  toField,
  toSchema,
} from '../statements/registry-rows.ts'
import type { Pool } from './driver.ts'
import {
  addMetadataField,
  addMetadataSchema,
  changeMetadataField,
  changeMetadataSchema,
  fieldIn,
  joined,
  removeMetadataField,
  removeMetadataSchema,
  schemaIn,
} from './registry-changes.ts'
import { isStorable } from './rows.ts'
import { changing } from './stamps.ts'

/** A name is plain ASCII, so `lower` does what it says. */
const matches = `($1::text IS NULL OR s.prefix = $1) AND ($2::text IS NULL OR f.element = $2)
  AND ($3::text IS NULL OR f.qualifier = $3) AND ($4::text IS NULL OR f.name = $4)
  AND ($5::text IS NULL OR strpos('.' || lower(f.name), $5) > 0)`

/** The registry of metadata in PostgreSQL. */
export const postgresRegistry = (pool: Pool): MetadataRegistry => ({
  schemas: async ({ offset, limit }) => {
    const rows = await pool.rows<SchemaRow>(
      `SELECT ${schemaColumns} FROM metadata_schema ORDER BY prefix LIMIT $1 OFFSET $2`,
      limit,
      offset,
    )
    const [counted] = await pool.rows<{ total: number }>('SELECT count(*) AS total FROM metadata_schema')
    return { rows: rows.map(toSchema), total: counted?.total ?? 0 }
  },
  schema: id => schemaIn(pool, id),
  fields: async (search, { offset, limit }) => {
    const asked = askedOf(search)
    if (!asked.every(text => text === null || isStorable(text))) return { rows: [], total: 0 }
    const rows = await pool.rows<FieldRow>(
      `SELECT ${fieldColumns} FROM ${joined} WHERE ${matches} ORDER BY f.name LIMIT $6 OFFSET $7`,
      ...asked,
      limit,
      offset,
    )
    const [counted] = await pool.rows<{ total: number }>(
      `SELECT count(*) AS total FROM ${joined} WHERE ${matches}`,
      ...asked,
    )
    return { rows: rows.map(toField), total: counted?.total ?? 0 }
  },
  field: id => fieldIn(pool, id),
  addSchema: (wanted, event) => changing(pool, event, 'shared', db => addMetadataSchema(db, wanted, event)),
  changeSchema: (id, namespace, event) =>
    changing(pool, event, 'shared', db => changeMetadataSchema(db, id, namespace, event)),
  removeSchema: (id, event) => changing(pool, event, 'shared', db => removeMetadataSchema(db, id, event)),
  addField: (schema, wanted, event) =>
    changing(pool, event, 'shared', db => addMetadataField(db, schema, wanted, event)),
  changeField: (id, scopeNote, event) =>
    changing(pool, event, 'shared', db => changeMetadataField(db, id, scopeNote, event)),
  removeField: (id, event) => changing(pool, event, 'shared', db => removeMetadataField(db, id, event)),
})
