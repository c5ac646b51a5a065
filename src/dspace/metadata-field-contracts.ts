import type { Contracts } from '../http/contract.ts'
import {
  always,
  answer,
  closed,
  json,
  links,
  named,
  orNull,
  pageOf,
  paging,
  parameter,
  Type,
  text,
} from '../http/schema.ts'

const tag = 'Alerts, audit and health'
const page = 'A page.'

const MetadataSchema = named('MetadataSchema', {
  id: text,
  prefix: text,
  namespace: text,
  type: always('metadataschema'),
  _links: links('self'),
})
const MetadataField = named('MetadataField', {
  id: text,
  element: text,
  qualifier: orNull(text),
  scopeNote: Type.Null(),
  type: always('metadatafield'),
  _links: links('schema', 'self'),
  _embedded: closed({ schema: MetadataSchema }),
})
const MetadataFieldPage = pageOf('metadatafields', MetadataField, 'MetadataFieldPage')

export const contracts = {
  listMetadataSchemas: {
    summary: 'Schemas of metadata',
    tag,
    query: paging,
    answers: { 200: answer(page, json(pageOf('metadataschemas', MetadataSchema, 'MetadataSchemaPage'))) },
    problems: ['bad-parameter'],
  },
  showMetadataSchema: {
    summary: 'A schema of metadata',
    tag,
    answers: { 200: answer('The schema.', json(MetadataSchema)) },
    problems: ['not-found'],
  },
  listMetadataFields: {
    summary: 'Fields of metadata that an editor offers',
    tag,
    query: paging,
    answers: { 200: answer(page, json(MetadataFieldPage)) },
    problems: ['bad-parameter'],
  },
  showMetadataField: {
    summary: 'A field of metadata',
    tag,
    answers: { 200: answer('The field.', json(MetadataField)) },
    problems: ['not-found'],
  },
  listMetadataFieldsOfSchema: {
    summary: 'Fields of a schema',
    tag,
    query: { schema: parameter(text), ...paging },
    answers: { 200: answer(page, json(MetadataFieldPage)) },
    problems: ['bad-parameter'],
  },
  searchMetadataFields: {
    summary: 'Fields by name',
    tag,
    query: {
      ...Object.fromEntries(
        ['schema', 'element', 'qualifier', 'query', 'exactName'].map(name => [name, parameter(text)]),
      ),
      ...paging,
    },
    answers: { 200: answer(page, json(MetadataFieldPage)) },
    problems: ['bad-parameter'],
  },
} as const satisfies Contracts
