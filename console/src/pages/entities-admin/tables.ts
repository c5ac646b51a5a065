import type { Schemas } from '@carrel/client'
import { addressOf } from '../../administration/declared.ts'
import { service } from '../../api.ts'

/** A table or view of PostgreSQL that can be shown as an entity. */
export type OwnTable = Schemas['ExposableTable']

export const tables = '/api/admin/tables'
export const tablesPath = 'admin/tables'
export const tablePath = ({ schema, name }: Pick<OwnTable, 'schema' | 'name'>): string =>
  `${tablesPath}/${encodeURIComponent(schema)}/${encodeURIComponent(name)}`
export const fullName = ({ schema, name }: Pick<OwnTable, 'schema' | 'name'>): string => `${schema}.${name}`

/** Counts the tables; 0 with the embedded store. */
export const countTables = async (signal: AbortSignal): Promise<number> =>
  (await service.value.list<OwnTable>(tables).page(0, 1, signal)).total

/** @returns undefined if there is no table of this name */
export async function loadTable(
  schema: string,
  name: string,
  signal: AbortSignal,
): Promise<OwnTable | undefined> {
  const found = service.value.list<OwnTable>(tables, { query: { query: fullName({ schema, name }) } })
  for (let page = 0; ; page++) {
    const { items, total } = await found.page(page, 100, signal)
    const one = items.find(table => table.schema === schema && table.name === name)
    if (one || (page + 1) * 100 >= total) return one
  }
}

/** Turns a table's name into a valid name of an entity: a-z, 0-9, _ and -. */
export const nameFor = ({ name }: Pick<OwnTable, 'name'>): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9_-]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')

interface Shown {
  readonly entity: string
  readonly read: string
  readonly key: readonly string[]
  readonly fields: readonly string[]
}

/** @throws CarrelProblem 412 if an entity of this name exists */
export const showTable = (
  { schema, name }: Pick<OwnTable, 'schema' | 'name'>,
  { entity, read, key, fields }: Shown,
): Promise<unknown> =>
  service.value.put(addressOf(entity), {
    json: { table: { schema, name }, read, key, fields },
    headers: { 'if-none-match': '*' },
  })
