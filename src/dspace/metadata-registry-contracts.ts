import type { Contracts } from '../http/contract.ts'
import type { ProblemCode } from '../http/problems.ts'
import {
  always,
  answer,
  closed,
  json,
  links,
  listOf,
  named,
  nothing,
  orNull,
  pageOf,
  parameter,
  Type,
  text,
  uri,
} from '../http/schema.ts'

export const tag = 'Metadata registry'
const refused = ['change-refused'] as const satisfies readonly ProblemCode[]
const id = Type.Integer({ minimum: 1 })

const MetadataSchema = named('MetadataSchema', {
  id,
  prefix: text,
  namespace: text,
  type: always('metadataschema'),
  _links: links('self'),
})
const MetadataField = named('MetadataField', {
  id,
  element: text,
  qualifier: orNull(text),
  scopeNote: orNull(text),
  type: always('metadatafield'),
  _links: links('schema', 'self'),
  _embedded: closed({ schema: MetadataSchema }),
})
const MetadataFieldPage = pageOf('metadatafields', MetadataField, 'MetadataFieldPage')
const WantedMetadataSchema = Type.Object(
  {
    prefix: Type.String({ maxLength: 32, description: 'Fixed once the schema is there.' }),
    namespace: Type.String({ maxLength: 256 }),
  },
  { $id: 'WantedMetadataSchema' },
)
const WantedMetadataField = Type.Object(
  {
    element: Type.String({ maxLength: 64, description: 'Fixed once the field is there.' }),
    qualifier: Type.Optional(orNull(Type.String({ maxLength: 64, description: 'Fixed, too.' }))),
    scopeNote: Type.Optional(orNull(Type.String({ maxLength: 2000 }))),
  },
  { $id: 'WantedMetadataField' },
)

export const contracts = {
  listMetadataSchemas: {
    summary: 'Schemas of metadata',
    ...listOf(pageOf('metadataschemas', MetadataSchema, 'MetadataSchemaPage')),
  },
  showMetadataSchema: {
    summary: 'A schema of metadata',
    answers: { 200: answer('The schema.', json(MetadataSchema)) },
    problems: ['not-found'],
  },
  addMetadataSchema: {
    summary: 'Add a schema of metadata',
    body: json(WantedMetadataSchema),
    answers: { 201: answer('The schema.', json(MetadataSchema), { Location: uri }) },
    problems: refused,
  },
  changeMetadataSchema: {
    summary: 'Change the namespace of a schema',
    body: json(WantedMetadataSchema),
    answers: { 200: answer('The schema.', json(MetadataSchema)) },
    problems: ['not-found', ...refused],
  },
  deleteMetadataSchema: {
    summary: 'Delete a schema with its fields; items keep their values',
    answers: { 204: nothing('It is deleted.') },
    problems: ['not-found'],
  },
  listMetadataFields: {
    summary: 'Fields of metadata that an editor offers',
    ...listOf(MetadataFieldPage),
  },
  showMetadataField: {
    summary: 'A field of metadata',
    answers: { 200: answer('The field.', json(MetadataField)) },
    problems: ['not-found'],
  },
  showSchemaOfMetadataField: {
    summary: 'The schema of a field',
    answers: { 200: answer('The schema.', json(MetadataSchema)) },
    problems: ['not-found'],
  },
  addMetadataField: {
    summary: 'Add a field to a schema of metadata',
    query: { schemaId: parameter(id, 'The schema that it is for.', { required: true }) },
    body: json(WantedMetadataField),
    answers: { 201: answer('The field.', json(MetadataField), { Location: uri }) },
    problems: ['bad-parameter', ...refused],
  },
  changeMetadataField: {
    summary: 'Change the scope note of a field',
    body: json(WantedMetadataField),
    answers: { 200: answer('The field.', json(MetadataField)) },
    problems: ['not-found', ...refused],
  },
  deleteMetadataField: {
    summary: 'Delete a field of metadata; items keep their values',
    answers: { 204: nothing('It is deleted.') },
    problems: ['not-found'],
  },
  listMetadataFieldsOfSchema: {
    summary: 'Fields of a schema',
    ...listOf(MetadataFieldPage, { schema: parameter(text, 'The prefix of the schema.') }),
  },
  searchMetadataFields: {
    summary: 'Fields by name',
    ...listOf(MetadataFieldPage, {
      schema: parameter(text, 'The prefix of the schema.'),
      element: parameter(text),
      qualifier: parameter(text),
      query: parameter(text, 'How the name begins, or its element, or its qualifier.'),
      exactName: parameter(text, 'The whole name.'),
    }),
  },
} as const satisfies Contracts
