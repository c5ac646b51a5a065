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
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'
import { fieldIn, joined, schemaIn } from './registry-changes.ts'

/** A name is plain ASCII, so `lower` does what it says. */
const matches = `(?1 IS NULL OR s.prefix = ?1) AND (?2 IS NULL OR f.element = ?2) AND (?3 IS NULL OR f.qualifier = ?3)
  AND (?4 IS NULL OR f.name = ?4) AND (?5 IS NULL OR instr('.' || lower(f.name), ?5) > 0)`

/** The registry of metadata in the embedded store. It is small, so its lists are read at once. */
export const sqliteRegistry = ({ db, write }: { db: Database; write: Write }): MetadataRegistry => ({
  schemas: ({ offset, limit }) => ({
    rows: db
      .all<SchemaRow>(
        `SELECT ${schemaColumns} FROM metadata_schema ORDER BY prefix LIMIT ? OFFSET ?`,
        limit,
        offset,
      )
      .map(toSchema),
    total: db.get<{ total: number }>('SELECT count(*) AS total FROM metadata_schema')?.total ?? 0,
  }),
  schema: id => schemaIn(db, id),
  fields: (search, { offset, limit }) => {
    const asked = askedOf(search)
    const rows = db.all<FieldRow>(
      `SELECT ${fieldColumns} FROM ${joined} WHERE ${matches} ORDER BY f.name LIMIT ?6 OFFSET ?7`,
      ...asked,
      limit,
      offset,
    )
    const counted = db.get<{ total: number }>(
      `SELECT count(*) AS total FROM ${joined} WHERE ${matches}`,
      ...asked,
    )
    return { rows: rows.map(toField), total: counted?.total ?? 0 }
  },
  field: id => fieldIn(db, id),
  addSchema: (wanted, event) => write('addMetadataSchema', wanted, event),
  changeSchema: (id, namespace, event) => write('changeMetadataSchema', id, namespace, event),
  removeSchema: (id, event) => write('removeMetadataSchema', id, event),
  addField: (schema, wanted, event) => write('addMetadataField', schema, wanted, event),
  changeField: (id, scopeNote, event) => write('changeMetadataField', id, scopeNote, event),
  removeField: (id, event) => write('removeMetadataField', id, event),
})
