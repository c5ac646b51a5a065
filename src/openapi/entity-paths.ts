import type { Caller } from '../model/caller.ts'
import type { Entity, Field } from '../model/entities.ts'
import { mayReadEntity, mayWriteEntity } from '../query/readable.ts'
import type { Json } from './components.ts'

/** Fields of all entities of a document: one is read by programs that make a type of each. */
const maxFields = 20_000

/** What may be part of the name of a component (https://spec.openapis.org/oas/v3.1.1#components-object). */
const nameable = /^[A-Za-z0-9._-]+$/

/** What a document has for the entities that its reader may read. */
export interface EntityParts {
  readonly paths: Json
  readonly schemas: Json
}

/** @param queryBase as a path */
export function entityParts(
  all: ReadonlyMap<string, Entity>,
  caller: Caller,
  { queryBase }: { readonly queryBase: string },
): EntityParts {
  const paths: Record<string, unknown> = {}
  const schemas: Record<string, unknown> = {}
  let fields = 0
  for (const entity of all.values()) {
    if (!mayReadEntity(caller, entity) || !nameable.test(entity.name)) continue
    fields += entity.fields.length
    if (fields > maxFields) break
    schemas[componentOf(entity)] = recordOf(entity)
    paths[`${queryBase}/${entity.name}`] = { get: listing(entity) }
    paths[`${queryBase}/${entity.name}/{key}`] = {
      get: single(entity),
      ...(mayWriteEntity(caller, entity) && { put: writing(entity) }),
    }
  }
  return { paths, schemas }
}

const componentOf = ({ name }: Entity) => `records.${name}`
const refTo = (entity: Entity) => ({ $ref: `#/components/schemas/${componentOf(entity)}` })

/** Only what identifies a record is always there: a record may lack any other member. */
const recordOf = (entity: Entity): Json => ({
  type: 'object',
  ...(entity.description === undefined ? {} : { description: entity.description }),
  properties: Object.fromEntries(entity.fields.map(field => [field.name, schemaOf(field)])),
  required: [entity.key].flat(),
  additionalProperties: false,
})

function schemaOf({ type, nullable }: Field): Json {
  const or = (name: string) => ({ type: nullable ? [name, 'null'] : name })
  switch (type) {
    case 'json':
      return {}
    case 'text':
      return or('string')
    case 'date-time':
      return { ...or('string'), format: 'date-time' }
    default:
      return or(type)
  }
}

const problem = {
  description: 'A problem.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}
const key = {
  name: 'key',
  in: 'path',
  required: true,
  description: 'The values of the key, with commas between them.',
  schema: { type: 'string' },
}
const parameter = (name: string, type: string) => ({ name, in: 'query', schema: { type } })
const security = [{}, { bearer: [] }]

const listing = (entity: Entity): Json => ({
  operationId: `list.${entity.name}`,
  summary: `The records of ${entity.name}`,
  description:
    'Whole records, or rows of what a query extracts. `explain` answers what was understood instead of records.',
  tags: ['Queries'],
  parameters: [
    parameter('query', 'string'),
    parameter('order_by', 'string'),
    parameter('limit', 'integer'),
    parameter('offset', 'integer'),
    parameter('include_total', 'boolean'),
    parameter('explain', 'string'),
  ],
  responses: {
    200: {
      description: 'The records.',
      headers: { 'X-Records': { schema: { type: 'integer' } }, Link: { schema: { type: 'string' } } },
      content: {
        'application/json': {
          schema: {
            anyOf: [
              { type: 'array', items: refTo(entity) },
              { type: 'array', items: { $ref: '#/components/schemas/EntityRecord' } },
              { $ref: '#/components/schemas/Explanation' },
            ],
          },
        },
        'application/x-ndjson': { schema: { type: 'string' } },
        'text/csv': { schema: { type: 'string' } },
      },
    },
    '4XX': problem,
    '5XX': problem,
  },
  security,
})

const one = (entity: Entity) => ({
  description: 'The record.',
  headers: { ETag: { schema: { type: 'string' } } },
  content: { 'application/json': { schema: refTo(entity) } },
})

const single = (entity: Entity): Json => ({
  operationId: `show.${entity.name}`,
  summary: `A record of ${entity.name}`,
  tags: ['Queries'],
  parameters: [key],
  responses: { 200: one(entity), '4XX': problem, '5XX': problem },
  security,
})

const writing = (entity: Entity): Json => ({
  operationId: `put.${entity.name}`,
  summary: `Write a record of ${entity.name}`,
  tags: ['Queries'],
  parameters: [key],
  requestBody: { required: true, content: { 'application/json': { schema: refTo(entity) } } },
  responses: { 200: one(entity), 201: one(entity), '4XX': problem, '5XX': problem },
  security: [{ bearer: [] }],
})
