import { hash } from 'node:crypto'
import { memo } from '../lib/memo.ts'
import type { Caller } from '../model/caller.ts'
import { type DescribedField, describedFields } from '../model/declared-fields.ts'
import type { Entity } from '../model/entities.ts'
import { mayReadEntity, mayWriteEntity } from '../query/readable.ts'
import { type Json, Names } from './components.ts'
import type { Taken } from './document.ts'

/**
 * Maximum number of fields of all entities in a document: programs that generate a type for each entity read
 * it.
 */
const maxFields = 20_000

/** The form of a component's name (https://spec.openapis.org/oas/v3.1.1#components-object). */
const nameable = /^[A-Za-z0-9._-]+$/

/** The parts of a document about the entities that its reader may read. */
export interface EntityParts {
  readonly paths: Json
  readonly schemas: Json
}

/** An entity that a reader is shown. */
interface Shown {
  readonly entity: Entity
  /** True if the reader may write its records. */
  readonly writable: boolean
}

/** @returns the entities that the caller may read, ordered by name, as far as they fit into a document */
export function shownTo(all: ReadonlyMap<string, Entity>, caller: Caller): readonly Shown[] {
  const readable = [...all.values()]
    .filter(entity => nameable.test(entity.name) && mayReadEntity(caller, entity))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  let fields = 0
  const end = readable.findIndex(entity => {
    fields += entity.fields.length
    return fields > maxFields
  })
  return readable
    .slice(0, end === -1 ? undefined : end)
    .map(entity => ({ entity, writable: mayWriteEntity(caller, entity) }))
}

/** A hash of everything in an entity that the document shows, computed once for each entity. */
const identityOf = memo((entity: Entity) => {
  const { name, description, key } = entity
  const shown = [name, description, key, describedFields(entity)]
  return hash('sha256', JSON.stringify(shown), 'base64url')
})

/** @returns a text that is the same for readers who are shown the same */
export const identityOfAll = (shown: readonly Shown[]): string =>
  hash(
    'sha256',
    shown.map(({ entity, writable }) => `${identityOf(entity)}${writable ? '!' : ''}`).join(),
    'base64url',
  )

/**
 * Describes the routes of entities.
 * @param queryBase as a path
 * @param taken names that entities can't have any more
 */
export function entityParts(
  all: readonly Shown[],
  { queryBase }: { readonly queryBase: string },
  taken: Taken,
): EntityParts {
  const [operations, components] = [new Names(taken.operations), new Names(taken.schemas)]
  const paths: Record<string, unknown> = {}
  const schemas: Record<string, unknown> = {}
  for (const { entity, writable } of all) {
    const component = components.add(`records.${entity.name}`)
    const named = {
      entity,
      record: { $ref: `#/components/schemas/${component}` },
      id: (start: string) => operations.add(start + inPascalCase(entity.name)),
    }
    schemas[component] = recordOf(entity)
    paths[`${queryBase}/${entity.name}`] = { get: listing(named) }
    paths[`${queryBase}/${entity.name}/{key}`] = {
      get: single(named),
      ...(writable && { put: writing(named) }),
    }
  }
  return { paths, schemas }
}

interface Named {
  readonly entity: Entity
  /** A reference to the schema of the entity's records. */
  readonly record: Json
  /** @returns the name of an operation */
  id(start: string): string
}

const inPascalCase = (name: string) =>
  name.replaceAll(/(?:^|[._-]+)([^._-]?)/g, (_, letter: string) => letter.toUpperCase())

/** Describes a record. Only the fields of the key are required: a record may lack any other member. */
const recordOf = (entity: Entity): Json => ({
  type: 'object',
  ...(entity.description === undefined ? {} : { description: entity.description }),
  properties: Object.fromEntries(
    describedFields(entity).map(field => [field.name, { ...schemaOf(field), ...wordsOf(field) }]),
  ),
  required: requiredIn(entity),
  additionalProperties: false,
})

/** The key, and fields in which every record has a value without a default. */
function requiredIn(entity: Entity): readonly string[] {
  const needed = describedFields(entity).filter(one => one.required && one.default === undefined)
  return [...new Set([...[entity.key].flat(), ...needed.map(({ name }) => name)])]
}

/** The declarations of a field that JSON Schema can express. */
function wordsOf({ label, help, unit, nullable, oneOf, ...field }: DescribedField): Json {
  const words = [
    help,
    unit && `In ${unit}.`,
    field.references && `The key of a record of ${field.references}.`,
  ]
  const description = words.filter(Boolean).join(' ')
  return {
    ...(label !== undefined && { title: label }),
    ...(description !== '' && { description }),
    ...(field.default !== undefined && { default: field.default }),
    ...(oneOf && { enum: nullable && !field.required ? [...oneOf, null] : oneOf }),
  }
}

function schemaOf({ type, nullable }: DescribedField): Json {
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

const listing = ({ entity, record, id }: Named): Json => ({
  operationId: id('listRecordsOf'),
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
      description: 'The records. Also as application/x-ndjson or text/csv.',
      headers: { 'X-Records': { schema: { type: 'integer' } }, Link: { schema: { type: 'string' } } },
      content: {
        'application/json': {
          schema: {
            anyOf: [
              { type: 'array', items: record },
              { type: 'array', items: { $ref: '#/components/schemas/EntityRecord' } },
              { $ref: '#/components/schemas/Explanation' },
            ],
          },
        },
      },
    },
    '4XX': problem,
    '5XX': problem,
  },
  security,
})

const one = (record: Json) => ({
  description: 'The record.',
  headers: { ETag: { schema: { type: 'string' } } },
  content: { 'application/json': { schema: record } },
})

const single = ({ entity, record, id }: Named): Json => ({
  operationId: id('showRecordOf'),
  summary: `A record of ${entity.name}`,
  description: 'The record with this key, if the caller may read it; otherwise 404.',
  tags: ['Queries'],
  parameters: [key],
  responses: { 200: one(record), '4XX': problem, '5XX': problem },
  security,
})

const writing = ({ entity, record, id }: Named): Json => ({
  operationId: id('putRecordOf'),
  summary: `Write a record of ${entity.name}`,
  description: 'The whole record: a new one, or in place of the one that is there.',
  tags: ['Queries'],
  parameters: [key],
  requestBody: { required: true, content: { 'application/json': { schema: record } } },
  responses: { 200: one(record), 201: one(record), '4XX': problem, '5XX': problem },
  security: [{ bearer: [] }],
})
