import { differences } from '../lib/differences.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { fieldName, type MetadataField, type MetadataSchema, maxFields, maxSchemas } from '../model/items.ts'
import * as tables from '../storage/schema/service.ts'
import type { PartStatements } from '../storage/statements/offered.ts'
import type { Change, Offered, Read } from '../storage/statements/statements.ts'
import * as db from '../storage/statements/statements.ts'
import type { Part, Window } from '../storage/storage.ts'

/**
 * The registry of metadata (docs/decisions/0052). It is small, so its lists are read at once. Each change records an event
 * with the differences.
 */
export const registry = {
  reads: {
    /** A page of the schemas, by prefix. */
    *schemas({ offset, limit }: Window): Read<Part<MetadataSchema>> {
      const sql = `SELECT ${schemaColumns} FROM metadata_schema ORDER BY prefix LIMIT $1 OFFSET $2`
      return {
        rows: yield* db.rows<MetadataSchema>(sql, limit, offset),
        total: yield* db.count('metadata_schema'),
      }
    },
    schema: (id: number) => schemaWith(id),
    /** A page of the fields that a search finds, by name. */
    *fields(search: FieldSearch, { offset, limit }: Window): Read<Part<MetadataField>> {
      const asked = askedOf(search)
      const found = yield* db.rows<FieldRow>(
        `SELECT ${fieldColumns} FROM ${joined} WHERE ${matches} ORDER BY f.name LIMIT $6 OFFSET $7`,
        ...asked,
        limit,
        offset,
      )
      return { rows: found.map(toField), total: yield* db.count(`${joined} WHERE ${matches}`, ...asked) }
    },
    field: (id: number) => fieldWith(id),
  },
  changes: {
    *addSchema(wanted: WantedSchema, event: AuditEvent): Change<MetadataSchema | 'exists' | 'full'> {
      yield* alone(event)
      const { prefix, namespace } = wanted
      if (
        yield* db.row('SELECT 1 FROM metadata_schema WHERE prefix = $1 OR namespace = $2', prefix, namespace)
      )
        return 'exists'
      if ((yield* db.count('metadata_schema')) >= maxSchemas) return 'full'
      const id = yield* db.insertNumbered(tables.metadataSchema, { prefix, namespace })
      const schema = { id, prefix, namespace }
      yield* db.record({ ...event, object: prefix, changes: differences(null, schema) })
      return schema
    },
    *changeSchema(
      id: number,
      namespace: string,
      event: AuditEvent,
    ): Change<MetadataSchema | 'exists' | undefined> {
      yield* alone(event)
      const before = yield* schemaWith(id)
      if (!before) return undefined
      if (yield* db.row('SELECT 1 FROM metadata_schema WHERE namespace = $1 AND id <> $2', namespace, id))
        return 'exists'
      const schema = { ...before, namespace }
      yield* db.run('UPDATE metadata_schema SET namespace = $1 WHERE id = $2', namespace, id)
      yield* db.record({ ...event, object: schema.prefix, changes: differences(before, schema) })
      return schema
    },
    /** Removes a schema with its fields. @returns false if there was no such schema */
    *removeSchema(id: number, event: AuditEvent): Change<boolean> {
      yield* alone(event)
      const schema = yield* schemaWith(id)
      if (!schema) return false
      const fields = yield* db.rows<FieldRow>(
        `SELECT ${fieldColumns} FROM ${joined} WHERE f.schema_id = $1 ORDER BY f.name`,
        id,
      )
      yield* db.run('DELETE FROM metadata_field WHERE schema_id = $1', id)
      yield* db.run('DELETE FROM metadata_schema WHERE id = $1', id)
      for (const field of fields)
        yield* db.record(removalOf(toField(field), { ...event, event: 'metadata-field.delete' }))
      yield* db.record({ ...event, object: schema.prefix, changes: { before: { ...schema }, after: null } })
      return true
    },
    *addField(
      schemaId: number,
      wanted: WantedField,
      event: AuditEvent,
    ): Change<MetadataField | 'exists' | 'full' | 'no-schema'> {
      yield* alone(event)
      const schema = yield* schemaWith(schemaId)
      if (!schema) return 'no-schema'
      const name = fieldName(schema, wanted)
      if (yield* db.row('SELECT 1 FROM metadata_field WHERE name = $1', name)) return 'exists'
      if ((yield* db.count('metadata_field')) >= maxFields) return 'full'
      const { element, qualifier, scopeNote } = wanted
      const columns = { schema_id: schemaId, name, element, qualifier, scope_note: scopeNote }
      const id = yield* db.insertNumbered(tables.metadataField, columns)
      const field = { id, schema, ...wanted }
      yield* db.record({ ...event, object: name, changes: differences(null, factsOf(field)) })
      return field
    },
    *changeField(id: number, scopeNote: string | null, event: AuditEvent): Change<MetadataField | undefined> {
      yield* alone(event)
      const before = yield* fieldWith(id)
      if (!before) return undefined
      const field = { ...before, scopeNote }
      yield* db.run('UPDATE metadata_field SET scope_note = $1 WHERE id = $2', scopeNote, id)
      const changes = differences(factsOf(before), factsOf(field))
      yield* db.record({ ...event, object: fieldName(field.schema, field), changes })
      return field
    },
    /** @returns false if there was no such field */
    *removeField(id: number, event: AuditEvent): Change<boolean> {
      yield* alone(event)
      const field = yield* fieldWith(id)
      if (!field) return false
      yield* db.run('DELETE FROM metadata_field WHERE id = $1', id)
      yield* db.record(removalOf(field, event))
      return true
    },
  },
} satisfies PartStatements

export type MetadataRegistry = Offered<typeof registry>

/** Allows one change at a time, so that a field's schema stays and limits hold. */
function* alone(event: AuditEvent): Change<void> {
  yield* db.rights(event, 'shared')
  yield* db.lock('LOCK TABLE metadata_schema IN SHARE ROW EXCLUSIVE MODE')
}

const schemaColumns = 'id, prefix, namespace'
const fieldColumns =
  'f.id, f.schema_id AS "schemaId", s.prefix, s.namespace, f.element, f.qualifier, f.scope_note AS "scopeNote"'
const joined = 'metadata_field f JOIN metadata_schema s ON s.id = f.schema_id'

/** Conditions for the values of `askedOf`. A name is plain ASCII, so `lower` is right on both engines. */
const matches = ['s.prefix = $1', 'f.element = $2', 'f.qualifier = $3', 'f.name = $4']
  .map((asked, at) => `(CAST($${at + 1} AS TEXT) IS NULL OR ${asked})`)
  .concat("(CAST($5 AS TEXT) IS NULL OR strpos('.' || lower(f.name), $5) > 0)")
  .join(' AND ')

const askedOf = ({ schema, element, qualifier, name, begins }: FieldSearch) =>
  [schema, element, qualifier, name, begins && `.${begins}`].map(value => value || null)

type FieldRow = Omit<MetadataField, 'schema'> & {
  readonly schemaId: number
  readonly prefix: string
  readonly namespace: string
}

const toField = ({ schemaId, prefix, namespace, ...field }: FieldRow): MetadataField => ({
  ...field,
  schema: { id: schemaId, prefix, namespace },
})

const schemaWith = (id: number): Read<MetadataSchema | undefined> =>
  db.row(`SELECT ${schemaColumns} FROM metadata_schema WHERE id = $1`, id)

function* fieldWith(id: number): Read<MetadataField | undefined> {
  const found = yield* db.row<FieldRow>(`SELECT ${fieldColumns} FROM ${joined} WHERE f.id = $1`, id)
  return found && toField(found)
}

/** A field as the audit trail records it. */
const factsOf = ({ id, element, qualifier, scopeNote }: MetadataField) => ({
  id,
  element,
  qualifier,
  scopeNote,
})

const removalOf = (field: MetadataField, event: AuditEvent): AuditEvent => ({
  ...event,
  object: fieldName(field.schema, field),
  changes: { before: factsOf(field), after: null },
})

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
