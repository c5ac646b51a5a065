import type { Description, ExactJson, Page } from '@carrel/client'
import { signal } from '@preact/signals'
import { queryBase, service } from './api.ts'
import { readExactly } from './exact.ts'

/** An entity as the service describes it. */
export type Entity = Description & { readonly description?: string }
export type EntityField = Entity['fields'][number]
export type Relation = NonNullable<Entity['relations']>[number]
export type Json = ExactJson
export type DataRecord = Readonly<Record<string, Json>>

/** The entities that the caller may read; undefined until they are loaded. */
export const entities = signal<readonly Entity[] | undefined>(undefined)

const builtIn = new Set(['epersons', 'groups', 'audit-events', 'items', 'bitstreams'])
export const isBuiltIn = (name: string): boolean => builtIn.has(name)

export async function loadEntities(signal?: AbortSignal): Promise<readonly Entity[]> {
  const list = await service.value.entities({ signal })
  entities.value = list
  return list
}

/** The declared label of a field, or its name. */
export const labelOf = ({ name, label = name }: Pick<EntityField, 'name' | 'label'>): string => label

/** The declared label of the field with this name, or the name. */
export const labelIn = ({ fields }: Pick<Entity, 'fields'>, name: string): string =>
  fields.find(one => one.name === name)?.label ?? name

/** True if records can be sorted by the field. Some types of a database, and lists, have no useful order. */
export const isSortable = ({ sortable, list }: EntityField): boolean => sortable !== false && !list

export const keyOf = ({ key }: Entity): readonly string[] => [key].flat() as readonly string[]

/**
 * Adds the fields of related entities of which each record has at most one record, named as in queries, such as
 * `artists.name`.
 */
export function withRelated(entity: Entity, all: readonly Entity[]): Entity {
  const related = (entity.relations ?? []).flatMap(({ fields, to }) => {
    const other = all.find(one => one.name === to.entity)
    const isList = (name: string) => entity.fields.some(one => one.name === name && one.list)
    const isUnique = (name: string) => other?.fields.some(one => one.name === name && one.unique)
    const isOne = other && (keyOf(other).every(name => to.fields.includes(name)) || to.fields.some(isUnique))
    if (!isOne || fields.some(isList)) return []
    return other.fields.map(field => ({ ...field, name: `${other.name}.${field.name}` }))
  })
  return related.length === 0 ? entity : { ...entity, fields: [...entity.fields, ...related] }
}

/** Returns the key's values as strings, the form in which the client takes them. */
export const keyIn = (entity: Entity, record: DataRecord): readonly string[] =>
  keyOf(entity).map(name => String(record[name]))

/** Returns a record's key as text. The values of a composite key are separated by commas, as in the API. */
export const keyText = (entity: Entity, record: DataRecord): string => joinedKey(keyIn(entity, record))

export const joinedKey = (values: readonly string[]): string => {
  const [first = ''] = values
  return values.length === 1 ? first : values.map(escaped).join(',')
}

/** Returns the last part of a record's address. */
export const keyPath = (entity: Entity, record: DataRecord): string =>
  encodeURIComponent(keyText(entity, record))

const escaped = (value: string) => value.replaceAll(/[\\,]/g, '\\$&')

export const entityPath = (name: string): string => `entities/${encodeURIComponent(name)}`
export const recordPath = (entity: Entity, record: DataRecord): string =>
  `${entityPath(entity.name)}/records/${keyPath(entity, record)}`

/** A query and an order of records. */
interface Asked {
  readonly query?: string | undefined
  readonly order?: readonly { readonly field: string; readonly order: 'asc' | 'desc' }[]
}

/** Translates a query and its order to the parameters of the query endpoints. */
export const parametersOf = ({ query, order = [] }: Asked): Record<string, string | undefined> => ({
  query: query || undefined,
  order_by: order.length > 0 ? JSON.stringify(order) : undefined,
})

/** Number of writes in this tab. After each, what is counted, drawn or read of one record is loaded again. */
export const writes = signal(0)

/**
 * @param name of the entity
 * @param asked its `query` is an AST in JSON, or PQL; without it, all records are loaded
 */
export async function loadPage(
  name: string,
  asked: Asked & { readonly limit: number; readonly offset?: number },
  signal?: AbortSignal,
): Promise<Page<DataRecord> & { readonly total: number }> {
  const { limit, offset = 0 } = asked
  const response = await service.value.request('GET', pathOf(name), {
    query: { ...parametersOf(asked), limit, offset: offset || undefined, include_total: true },
    signal,
  })
  return pageIn(response, offset)
}

/** Reads a page of records, and what its headers say about it. */
export const pageIn = async (
  response: Response,
  offset: number,
): Promise<Page<DataRecord> & { readonly total: number }> => ({
  records: readExactly(await response.text()) as readonly DataRecord[],
  total: Number(response.headers.get('x-records')),
  offset,
  etag: response.headers.get('etag') ?? undefined,
  snapshot: response.headers.get('x-snapshot') ?? undefined,
})

/**
 * Asks for groups, or for functions of all records, in PQL.
 *
 * @param timeout in seconds
 * @returns rows as lists in the order of the query's columns, whatever their names are, and the number of all rows
 */
export async function loadRows(
  query: string,
  {
    signal,
    ...asked
  }: { readonly limit?: number | undefined; readonly timeout?: number; readonly signal: AbortSignal },
): Promise<{ readonly rows: readonly (readonly Json[])[]; readonly total: number }> {
  const response = await service.value.request('GET', pathOf(), {
    query: { ...asked, query, include_total: true },
    signal,
  })
  const rows = readExactly(await response.text()) as readonly DataRecord[]
  return { rows: rows.map(row => Object.values(row)), total: Number(response.headers.get('x-records')) }
}

/** Returns a path below the query base, with each part encoded. */
export const pathOf = (...parts: readonly string[]): string =>
  [queryBase, ...parts.map(encodeURIComponent)].join('/')
