import type { Entity, Field, Page } from '../storage.ts'

/** From a plan to SQL, for entities that are tables. Pure: names come from the entity's own list, values are bound. */
export interface Statement {
  readonly sql: string
  readonly values: readonly number[]
}

/** Rows of one column: the record as JSON. */
export function compilePage(entity: Entity, table: string, page: Page): Statement {
  const columns = entity.fields.map(field => `${literal(field.name)}, ${jsonValue(field)}`).join(', ')
  const order = [...page.order, ...[entity.key].flat().map(field => ({ field, descending: false }))]
    .map(({ field, descending }) => `${name(field)} ${descending ? 'DESC NULLS FIRST' : 'ASC NULLS LAST'}`)
    .join(', ')
  // SQLite takes an OFFSET only behind a LIMIT; -1 is none (https://sqlite.org/lang_select.html#limitoffset).
  return {
    sql: `SELECT json_object(${columns}) FROM ${name(table)} ORDER BY ${order} LIMIT ? OFFSET ?`,
    values: [page.limit ?? -1, page.offset],
  }
}

export const compileTotal = (table: string): Statement => ({
  sql: `SELECT count(*) FROM ${name(table)}`,
  values: [],
})

const name = (text: string) => `"${text.replaceAll('"', '""')}"`
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

/** SQLite has neither booleans nor JSON as types of a column. */
function jsonValue(field: Field): string {
  if (field.type === 'boolean') return `json(iif(${name(field.name)}, 'true', 'false'))`
  if (field.type === 'json') return `json(${name(field.name)})`
  return name(field.name)
}
