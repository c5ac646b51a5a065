import type { Entity, Page } from '../storage.ts'
import type { Value } from './driver.ts'

export interface Statement {
  readonly sql: string
  readonly values: readonly Value[]
}

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** From a plan to SQL, for entities that are tables. Pure: names come from the entity's own list, values are bound. */
export interface TableSource {
  /** Quoted, with its schema. */
  readonly table: string
  /** Fields whose values are compared as text, by code point, whatever the type of the column (Q6). */
  readonly asText: readonly string[]
  /** Values may be JSON as somebody wrote it, with line ends between its parts: one record is one line (NDJSON). */
  readonly mayHaveLineEnds: boolean
}

/** Rows of one column, `json`: the record. Nulls come last ascending and first descending, as PostgreSQL has it by itself. */
export function compilePage(
  { fields, key }: Entity,
  { table, asText, mayHaveLineEnds }: TableSource,
  page: Page,
): Statement {
  const columns = fields.map(field => `t.${quoteName(field.name)}`).join(', ')
  // A column of the same name would come before the whole row.
  const row = quoteName(nameUnlike(fields))
  const order = [...page.order, ...[key].flat().map(field => ({ field, descending: false }))]
    .map(({ field, descending }) => {
      const column = `t.${quoteName(field)}`
      const compared = asText.includes(field) ? `CAST(${column} AS TEXT) COLLATE "C"` : column
      return `${compared} ${descending ? 'DESC' : 'ASC'}`
    })
    .join(', ')
  const json = `CAST(row_to_json(${row}) AS TEXT)`
  const inOneLine = mayHaveLineEnds ? `translate(${json}, chr(10) || chr(13), '  ')` : json
  return {
    // The inner select decides which rows; only those are turned into JSON.
    sql: `SELECT ${inOneLine} AS json FROM (SELECT ${columns} FROM ${table} t ORDER BY ${order} LIMIT $1 OFFSET $2) ${row}`,
    values: [page.limit, page.offset],
  }
}

/** A name that no field has. */
function nameUnlike(fields: Entity['fields']): string {
  const names = new Set(fields.map(field => field.name))
  let name = 'record'
  while (names.has(name)) name += '_'
  return name
}

/** How many records there are; where nobody asked, no further than to know whether some follow the page. */
export function compileCount({ table }: TableSource, page: Page): Statement | undefined {
  if (page.total) return { sql: `SELECT count(*) AS count FROM ${table}`, values: [] }
  if (page.limit === null) return undefined
  return {
    sql: `SELECT count(*) AS count FROM (SELECT 1 FROM ${table} LIMIT $1) counted`,
    values: [Math.min(page.offset + page.limit + 1, Number.MAX_SAFE_INTEGER)],
  }
}

/** One row: `body`, the page's records joined by the separator, and `count` as `compileCount` has it. */
export function compileShort(entity: Entity, source: TableSource, page: Page, separator: string): Statement {
  const records = compilePage(entity, source, page)
  const count = compileCount(source, page)
  const behind = records.values.length + 1
  const counted = count === undefined ? 'NULL' : `(${count.sql.replace('$1', `$${behind + 1}`)})`
  return {
    sql: `SELECT ${counted} AS count, (SELECT string_agg(json, $${behind}) FROM (${records.sql}) page) AS body`,
    values: [...records.values, separator, ...(count?.values ?? [])],
  }
}
