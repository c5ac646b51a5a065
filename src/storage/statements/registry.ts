import { randomUUID } from 'node:crypto'
import { differences } from '../../lib/differences.ts'
import { administratorGroup, nameKey } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import {
  fieldName,
  type MetadataField,
  type MetadataSchema,
  maxFields,
  maxSchemas,
} from '../../model/items.ts'
import type { FieldSearch, MetadataRegistry } from '../repository.ts'
import type { Change, Read, StatementsOf } from './statements.ts'
import * as db from './statements.ts'

/** The registry of metadata. It is small, so its lists are read at once. */
export const registry = {
  reads: {
    *schemas({ offset, limit }) {
      const sql = `SELECT ${schemaColumns} FROM metadata_schema ORDER BY prefix LIMIT $1 OFFSET $2`
      return {
        rows: yield* db.rows<MetadataSchema>(sql, limit, offset),
        total: yield* db.count('metadata_schema'),
      }
    },
    schema: id => schemaWith(id),
    *fields(search, { offset, limit }) {
      const asked = askedOf(search)
      const found = yield* db.rows<FieldRow>(
        `SELECT ${fieldColumns} FROM ${joined} WHERE ${matches} ORDER BY f.name LIMIT $6 OFFSET $7`,
        ...asked,
        limit,
        offset,
      )
      return { rows: found.map(toField), total: yield* db.count(`${joined} WHERE ${matches}`, ...asked) }
    },
    field: id => fieldWith(id),
  },
  changes: {
    *addSchema(wanted, event) {
      yield* alone(event)
      const { prefix, namespace } = wanted
      if (
        yield* db.row('SELECT 1 FROM metadata_schema WHERE prefix = $1 OR namespace = $2', prefix, namespace)
      )
        return 'exists'
      if ((yield* db.count('metadata_schema')) >= maxSchemas) return 'full'
      const id = yield* db.insertNumbered('metadata_schema', { prefix, namespace })
      const schema = { id, prefix, namespace }
      yield* db.record({ ...event, object: prefix, changes: differences(null, schema) })
      return schema
    },
    *changeSchema(id, namespace, event) {
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
    *removeSchema(id, event) {
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
    *addField(schemaId, wanted, event) {
      yield* alone(event)
      const schema = yield* schemaWith(schemaId)
      if (!schema) return 'no-schema'
      const name = fieldName(schema, wanted)
      if (yield* db.row('SELECT 1 FROM metadata_field WHERE name = $1', name)) return 'exists'
      if ((yield* db.count('metadata_field')) >= maxFields) return 'full'
      const { element, qualifier, scopeNote } = wanted
      const columns = { schema_id: schemaId, name, element, qualifier, scope_note: scopeNote }
      const id = yield* db.insertNumbered('metadata_field', columns)
      const field = { id, schema, ...wanted }
      yield* db.record({ ...event, object: name, changes: differences(null, factsOf(field)) })
      return field
    },
    *changeField(id, scopeNote, event) {
      yield* alone(event)
      const before = yield* fieldWith(id)
      if (!before) return undefined
      const field = { ...before, scopeNote }
      yield* db.run('UPDATE metadata_field SET scope_note = $1 WHERE id = $2', scopeNote, id)
      const changes = differences(factsOf(before), factsOf(field))
      yield* db.record({ ...event, object: fieldName(field.schema, field), changes })
      return field
    },
    *removeField(id, event) {
      yield* alone(event)
      const field = yield* fieldWith(id)
      if (!field) return false
      yield* db.run('DELETE FROM metadata_field WHERE id = $1', id)
      yield* db.record(removalOf(field, event))
      return true
    },
  },
} satisfies StatementsOf<MetadataRegistry>

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

/** The rows of a new store: the group of administrators, and Dublin Core in the registry of metadata. */
export function* firstRows(): Change<void> {
  yield* db.insert('epersongroup', {
    uuid: randomUUID(),
    name: administratorGroup,
    name_key: nameKey(administratorGroup),
    special: 1,
    created: db.now(),
  })
  yield* db.insert('metadata_schema', { prefix: 'dc', namespace: 'http://purl.org/dc/elements/1.1/' })
  for (const name of dublinCore) {
    const [element, qualifier] = name.split('.')
    yield* db.insert('metadata_field', {
      schema_id: 1,
      name: `dc.${name}`,
      element: element ?? '',
      qualifier: qualifier ?? null,
    })
  }
}

const dublinCore = [
  ...['title', 'title.alternative', 'contributor', 'contributor.author', 'contributor.advisor'],
  ...['contributor.editor', 'creator', 'coverage', 'coverage.spatial', 'coverage.temporal', 'date'],
  ...['date.issued', 'date.created', 'date.accessioned', 'date.available', 'description'],
  ...['description.abstract', 'description.provenance', 'description.sponsorship', 'format', 'format.extent'],
  ...['identifier', 'identifier.citation', 'identifier.doi', 'identifier.isbn', 'identifier.issn'],
  ...['identifier.other', 'identifier.uri', 'language', 'language.iso', 'publisher', 'relation'],
  ...['relation.ispartof', 'relation.ispartofseries', 'rights', 'rights.license', 'rights.uri', 'source'],
  ...['subject', 'subject.ddc', 'subject.lcsh', 'type'],
]
