import { computed, signal } from '@preact/signals'
import { read, send } from './api.ts'

/** What the service says of its entities, and their records. */
export interface EntityField {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly sortable?: boolean
}

export interface Relation {
  readonly fields: readonly string[]
  readonly to: { readonly entity: string; readonly fields: readonly string[] }
}

export interface Entity {
  readonly name: string
  readonly description?: string
  readonly key: string | readonly string[]
  readonly fields: readonly EntityField[]
  readonly relations?: readonly Relation[]
}

export type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value }
export type DataRecord = Readonly<Record<string, Value>>

/** Those that the caller may read; undefined until they are known. Pages that need them load them again. */
export const entities = signal<readonly Entity[] | undefined>(undefined)

const builtIn = new Set(['epersons', 'groups', 'audit-events', 'items', 'bitstreams'])
export const isBuiltIn = (name: string): boolean => builtIn.has(name)

/** The archive's own, for the navigation. */
export const ownEntities = computed(() => (entities.value ?? []).filter(({ name }) => !isBuiltIn(name)))

export async function loadEntities(): Promise<readonly Entity[]> {
  const list = await read<readonly Entity[]>('query:')
  entities.value = list
  return list
}

export const keyOf = ({ key }: Entity): readonly string[] => [key].flat() as readonly string[]

/** The last part of a record's address. */
export const keyPath = (entity: Entity, record: DataRecord): string =>
  keyOf(entity)
    .map(name => encodeURIComponent(String(record[name])))
    .join(',')

export interface Page {
  readonly records: readonly DataRecord[]
  readonly total: number
}

export interface Asked {
  readonly query?: string | undefined
  readonly order?: readonly { readonly field: string; readonly order: 'asc' | 'desc' }[]
  readonly limit: number
  readonly offset?: number
}

export async function loadPage(name: string, asked: Asked, signal?: AbortSignal): Promise<Page> {
  const { query, order = [], limit, offset = 0 } = asked
  const response = await send('GET', `query:${encodeURIComponent(name)}`, {
    query: {
      query: query || undefined,
      order_by: order.length > 0 ? JSON.stringify(order) : undefined,
      limit,
      offset: offset || undefined,
      include_total: true,
    },
    signal,
  })
  return {
    records: (await response.json()) as readonly DataRecord[],
    total: Number(response.headers.get('x-records')),
  }
}
