import assert from 'node:assert/strict'
import type { Entity, FieldType } from '../../../src/model/entities.ts'
import type { Plan } from '../../../src/model/plan.ts'
import { type Context, check } from '../../../src/query/check/check.ts'
import { QueryError } from '../../../src/query/language/node.ts'
import { readAst } from '../../../src/query/language/read-ast.ts'

/** The source of entities for the tests of the check, which have fields of every type. */
const records: Entity['source'] = { kind: 'records', version: '1', count: 1, bytes: 1, largest: 1 }

export const entity = (
  name: string,
  fields: Readonly<Record<string, FieldType>>,
  more: Partial<Entity> = {},
): Entity => ({
  name,
  key: Object.keys(fields)[0] ?? '',
  read: 'anonymous',
  source: records,
  fields: Object.entries(fields).map(([field, type]) => ({ name: field, type, nullable: true })),
  ...more,
})

export const things = entity('things', {
  name: 'text',
  size: 'integer',
  weight: 'number',
  good: 'boolean',
  made: 'date-time',
  data: 'json',
  tags: 'json',
  'data.x': 'text',
})

export const unordered = entity('unordered', { id: 'integer', place: 'text', shape: 'json' })

const withoutOrder = {
  ...unordered,
  fields: unordered.fields.map(field =>
    field.name === 'id' ? field : { ...field, sortable: false as const },
  ),
}

const artworks = entity(
  'artworks',
  { id: 'integer', artist_id: 'integer', title: 'text', acquired: 'date-time' },
  { relations: [{ fields: ['artist_id'], to: { entity: 'artists', fields: ['id'] } }] },
)

export const known: ReadonlyMap<string, Entity> = new Map(
  [
    things,
    withoutOrder,
    artworks,
    entity('artists', { id: 'integer', name: 'text' }),
    entity('nodes', { certname: 'text', facts_environment: 'text', deactivated: 'date-time' }),
    entity('facts', { certname: 'text', name: 'text', value: 'json' }),
    entity('resources', {
      certname: 'text',
      title: 'text',
      parameters: 'json',
      tags: 'json',
      'latest_report?': 'boolean',
    }),
    entity('fact-contents', { path: 'json', value: 'json' }),
    entity('secrets', { certname: 'text', word: 'text' }),
    entity('counted', { id: 'integer', count: 'integer', relevance: 'number' }),
  ].map(one => [one.name, one]),
)

export const mayRead = (one: Entity): boolean => one.name !== 'secrets'

type Asked = Partial<Omit<Context, 'entity'>> & { readonly entity?: string | null }

/** @param query as JSON */
export function ask(query: unknown, { entity: name = 'things', ...more }: Asked = {}): Plan {
  const entities = more.entities ?? known
  return check(query === null ? null : readAst(JSON.stringify(query)), {
    entities,
    mayRead,
    given: { total: false },
    ...more,
    entity: name === null ? null : (entities.get(name) ?? assert.fail(`no ${name}`)),
  })
}

/** Checks a query at the query base. */
export const askBase = (query: unknown, more: Asked = {}): Plan => ask(query, { entity: null, ...more })

export const where = (query: unknown, more: Asked = {}) => ask(query, more).where

/** Returns the mistake for which a query is refused. */
export function mistake(run: () => unknown): {
  message: string
  at: unknown
  members: Readonly<Record<string, unknown>>
} {
  try {
    run()
  } catch (error) {
    if (error instanceof QueryError) return { message: error.message, at: error.at, members: error.members }
    throw error
  }
  return assert.fail('it was not refused')
}

export const refs = {
  name: { name: 'name', path: [], type: 'text' },
  size: { name: 'size', path: [], type: 'integer' },
  weight: { name: 'weight', path: [], type: 'number' },
  good: { name: 'good', path: [], type: 'boolean' },
  made: { name: 'made', path: [], type: 'date-time' },
  data: { name: 'data', path: [], type: 'json' },
  tags: { name: 'tags', path: [], type: 'json' },
} as const
