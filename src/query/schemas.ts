import { closed, count, flag, Json, named, oneOf, orNull, Type, text, uri } from '../http/schema.ts'
import { type FieldFormat, fieldFormats } from '../model/declared-fields.ts'
import type { FieldType } from '../model/entities.ts'

/** Entities, and records of any of them. */

const types = [
  'integer',
  'number',
  'boolean',
  'date-time',
  'text',
  'json',
] as const satisfies readonly FieldType[]

export const formats = Object.keys(fieldFormats) as FieldFormat[]
export const PlainValue = Type.Union([text, Type.Number(), Type.Boolean()])
export const FieldDescription = {
  name: text,
  type: oneOf(...types),
  nullable: flag,
  sortable: Type.Optional(Type.Boolean({ const: false, description: 'The values have no order.' })),
  collation: Type.Optional(Type.String({ description: 'BCP 47: how text is sorted.' })),
  list: Type.Optional(
    Type.Boolean({ const: true, description: 'The values are lists, and comparisons ask their elements.' }),
  ),
  label: Type.Optional(Type.String({ description: 'The name that people read.' })),
  help: Type.Optional(Type.String({ description: 'What it holds, in words for people.' })),
  unit: Type.Optional(Type.String({ description: 'Of numbers, such as `mm`.' })),
  format: Type.Optional(oneOf(...formats)),
  required: Type.Optional(Type.Boolean({ const: true, description: 'Every record has a value.' })),
  default: Type.Optional(PlainValue),
  unique: Type.Optional(Type.Boolean({ const: true, description: 'No two records have the same value.' })),
  oneOf: Type.Optional(Type.Array(PlainValue, { description: 'The only values that records have.' })),
  references: Type.Optional(
    Type.String({ description: 'The entity that has a record with the value as its key.' }),
  ),
}
const Field = named('Field', FieldDescription)
export const Key = Type.Union([text, Type.Array(text)], {
  description: 'The field, or the fields, that identify a record.',
})
export const Relation = named(
  'Relation',
  { fields: Type.Array(text), to: closed({ entity: text, fields: Type.Array(text) }) },
  'Records belong together if they are equal in these fields.',
)
export const EntityDescription = named('EntityDescription', {
  name: text,
  description: Type.Optional(Type.String({ description: 'What it is, in words for a person.' })),
  key: Key,
  fields: Type.Array(Field),
  relations: Type.Optional(Type.Array(Relation)),
  writable: Type.Optional(Type.Boolean({ const: true })),
  href: uri,
})

export const EntityRecord = Type.Record(text, Json, {
  $id: 'EntityRecord',
  description: 'A record of some entity; its members are the fields of the entity, or what a query extracts.',
})
export const Records = Type.Array(EntityRecord)

export const Explanation = named(
  'Explanation',
  {
    engine: text,
    entity: text,
    condition: Json,
    kept: Type.Optional(flag),
    sql: Type.Optional(text),
    steps: Type.Optional(Type.Array(text)),
    indexes: Type.Optional(Type.Array(text)),
    advice: Type.Optional(orNull(text)),
    ran: Type.Optional(closed({ rows: count, milliseconds: Type.Number({ minimum: 0 }) })),
  },
  'What was understood, and for administrators how it is run.',
)
