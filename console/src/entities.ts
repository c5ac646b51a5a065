import type { Description, ExactJson, Page } from '@carrel/client'
import { computed, signal } from '@preact/signals'
import { service } from './api.ts'
import { readExactly } from './exact.ts'

/** What the service says of its entities, and their records. */
export type Entity = Description & { readonly description?: string }
export type EntityField = Entity['fields'][number]
export type Relation = NonNullable<Entity['relations']>[number]
export type Json = ExactJson
export type DataRecord = Readonly<Record<string, Json>>

/** Those that the caller may read; undefined until they are known. */
export const entities = signal<readonly Entity[] | undefined>(undefined)

const builtIn = new Set(['epersons', 'groups', 'audit-events', 'items', 'bitstreams'])
export const isBuiltIn = (name: string): boolean => builtIn.has(name)

/** The archive's own, for the navigation. */
export const ownEntities = computed(() => (entities.value ?? []).filter(({ name }) => !isBuiltIn(name)))

export async function loadEntities(signal?: AbortSignal): Promise<readonly Entity[]> {
  const list = await service.value.entities({ signal })
  entities.value = list
  return list
}

/** JSON has no order, and some types of a database have none. */
export const isSortable = ({ sortable, type }: EntityField): boolean => sortable !== false && type !== 'json'

export const keyOf = ({ key }: Entity): readonly string[] => [key].flat() as readonly string[]

/** The values of the key, as the client takes them. */
export const keyIn = (entity: Entity, record: DataRecord): readonly string[] =>
  keyOf(entity).map(name => String(record[name]))

/** The last part of a record's address: several values with commas between, as in the API. */
export const keyPath = (entity: Entity, record: DataRecord): string => {
  const values = keyIn(entity, record)
  const [first = ''] = values
  return encodeURIComponent(values.length === 1 ? first : values.map(escaped).join(','))
}

const escaped = (value: string) => value.replaceAll(/[\\,]/g, '\\$&')

/** Backwards: a composite key has its parts between commas that no backslash is before. */
export const keyInPath = (entity: Entity, text: string): string | readonly string[] => {
  if (keyOf(entity).length === 1) return text
  const parts = text.match(/(?:\\.|[^,\\])+|(?<=,)(?=,|$)|^(?=,)/g) ?? []
  return parts.map(part => part.replaceAll(/\\(.)/g, '$1'))
}

export const entityPath = (name: string): string => `entities/${encodeURIComponent(name)}`
export const recordPath = (entity: Entity, record: DataRecord): string =>
  `${entityPath(entity.name)}/records/${keyPath(entity, record)}`

/** What is asked of an entity: in its own words, or as a query in PQL with a condition. */
export interface Asked {
  readonly query?: string | undefined
  readonly order?: readonly { readonly field: string; readonly order: 'asc' | 'desc' }[]
}

/** The same as parameters of the query endpoints. */
export const parametersOf = ({ query, order = [] }: Asked): Record<string, string | undefined> => ({
  query: query || undefined,
  order_by: order.length > 0 ? JSON.stringify(order) : undefined,
})

/** @param query of this entity, as an AST in JSON; empty: all of it */
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
  return {
    records: readExactly(await response.text()) as readonly DataRecord[],
    total: Number(response.headers.get('x-records')),
    offset,
    etag: response.headers.get('etag') ?? undefined,
  }
}

const { query: base = '/api/query/v4' } =
  document.querySelector<HTMLMetaElement>('meta[name="carrel"]')?.dataset ?? {}

/** Below the query base. */
export const pathOf = (...parts: readonly string[]): string =>
  [base, ...parts.map(encodeURIComponent)].join('/')
