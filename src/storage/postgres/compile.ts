import type { Entity, Page } from '../../model/entities.ts'
import { maskOf } from '../shared/hidden-metadata.ts'
import type { VisibleRows } from '../shared/row-visibility.ts'
import { totalOrder } from '../shared/total-order.ts'
import type { Value } from './driver.ts'

/** SQL for entities that are tables. Pure: names come from the entity's own fields, and values are bound. */
export interface Statement {
  readonly sql: string
  readonly values: readonly Value[]
}

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** A table or view to read, and which of its rows. */
export interface TableShape {
  /** The quoted name, with the schema. */
  readonly table: string
  /** Fields whose values are compared as text by code point, whatever the column's type (Q6). */
  readonly asText: readonly string[]
  /** Whether JSON values may contain line breaks between tokens. They are replaced, because a record is one line (NDJSON). */
  readonly mayHaveLineBreaks: boolean
  readonly rows: RowSelection
}

/** Which rows are shown, and how they are read and counted. */
export type RowSelection =
  | Exclude<VisibleRows, { kind: 'audiences' }>
  /** All rows of a table that the table `audience` counts. */
  | { readonly kind: 'counted'; readonly counter: string }
  | {
      readonly kind: 'audiences'
      readonly ids: readonly number[]
      readonly counter: string
      readonly hidden?: readonly string[]
      /** Whether to collect all visible rows and sort them (`isCollectingCheaper`). */
      readonly collect: boolean
    }

/** @param first the number of the first placeholder */
function condition(rows: RowSelection, first: number): Statement {
  if (rows.kind === 'own') return { sql: `WHERE t.eperson = $${first}`, values: [rows.eperson] }
  if (rows.kind !== 'audiences') return { sql: '', values: [] }
  // No index matches the expression, so rows are read in the order of the list instead of audience by audience.
  const column = rows.collect ? 't.audience' : '(t.audience + 0)'
  return { sql: `WHERE ${column} = ANY($${first}::integer[])`, values: [rows.ids] }
}

/** Returns rows of one column, `json`: the record. PostgreSQL sorts nulls last ascending and first descending by default. */
export function compilePage(
  entity: Entity,
  { table, asText, mayHaveLineBreaks, rows }: TableShape,
  page: Page,
): Statement {
  const { fields } = entity
  const hidden = rows.kind === 'audiences' ? rows.hidden : undefined
  const columns = fields
    .map(({ name }) =>
      maskOf(name, hidden) ? `${shown(name, hidden)} AS ${quoteName(name)}` : shown(name, hidden),
    )
    .join(', ')
  // A column of the same name would shadow the row.
  const row = quoteName(unusedName(fields))
  const order = totalOrder(entity, page.order)
    .map(({ field, descending }) => {
      const column = shown(field, hidden)
      const compared = asText.includes(field) ? `CAST(${column} AS TEXT) COLLATE "C"` : column
      return `${compared} ${descending ? 'DESC' : 'ASC'}`
    })
    .join(', ')
  const json = `CAST(row_to_json(${row}) AS TEXT)`
  const inOneLine = mayHaveLineBreaks ? `translate(${json}, chr(10) || chr(13), '  ')` : json
  const where = condition(rows, 3)
  const isCollected = rows.kind === 'audiences' && rows.collect
  const from = isCollected ? `(SELECT * FROM ${table} t ${where.sql} OFFSET 0) t` : `${table} t ${where.sql}`
  return {
    // The inner select picks the rows of the page; only those are converted to JSON.
    sql: `SELECT ${inOneLine} AS json FROM (SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT $1 OFFSET $2) ${row}`,
    values: [page.limit, page.offset, ...where.values],
  }
}

/** A column as it is shown (Q19). The text of what stays is not changed, so that both engines print the same bytes. */
function shown(field: string, hidden: readonly string[] | undefined): string {
  const column = `t.${quoteName(field)}`
  const mask = maskOf(field, hidden)
  if (mask === undefined) return column
  if (mask.kind === 'null') return 'CAST(NULL AS TEXT)'
  if (mask.kind === 'empty list') return "CAST('[]' AS JSON)"
  return `(SELECT CAST('{' || coalesce(string_agg(CAST(to_json(m.key) AS TEXT) || ':' || CAST(m.value AS TEXT), ',' ORDER BY m.n), '') || '}' AS JSON)
    FROM json_each(${column}) WITH ORDINALITY AS m (key, value, n) WHERE m.key NOT IN (${mask.fields.map(one => `'${one}'`).join(', ')}))`
}

/** A name that no field has. */
function unusedName(fields: Entity['fields']): string {
  const names = new Set(fields.map(field => field.name))
  let name = 'record'
  while (names.has(name)) name += '_'
  return name
}

/**
 * Counts the records. If no total was requested, it counts only far enough to tell whether more follow the page.
 * @param first the number of the first placeholder, if this statement is part of another
 */
export function compileCount({ table, rows }: TableShape, page: Page, first = 1): Statement | undefined {
  if (!page.total && page.limit === null) return undefined
  if (rows.kind === 'audiences' || rows.kind === 'counted') return countAudiences(rows, first)
  if (page.total) {
    const where = condition(rows, first)
    return { sql: `SELECT count(*) AS count FROM ${table} t ${where.sql}`, values: where.values }
  }
  const where = condition(rows, first + 1)
  return {
    sql: `SELECT count(*) AS count FROM (SELECT 1 FROM ${table} t ${where.sql} LIMIT $${first}) counted`,
    values: [Math.min(page.offset + (page.limit ?? 0) + 1, Number.MAX_SAFE_INTEGER), ...where.values],
  }
}

const countAudiences = (rows: Extract<RowSelection, { counter: string }>, first: number): Statement => ({
  sql: `SELECT coalesce(CAST(sum(${rows.counter}) AS BIGINT), 0) AS count FROM carrel.audience${
    rows.kind === 'audiences' ? ` WHERE id = ANY($${first}::integer[])` : ''
  }`,
  values: rows.kind === 'audiences' ? [rows.ids] : [],
})

/** Returns one row: `body`, the page's records joined by the separator, and `count` as from `compileCount`. */
export function compileShortPage(
  entity: Entity,
  source: TableShape,
  page: Page,
  separator: string,
): Statement {
  const records = compilePage(entity, source, page)
  const joiner = records.values.length + 1
  const count = compileCount(source, page, joiner + 1)
  return {
    sql: `SELECT ${count ? `(${count.sql})` : 'NULL'} AS count, (SELECT string_agg(json, $${joiner}) FROM (${records.sql}) page) AS body`,
    values: [...records.values, separator, ...(count?.values ?? [])],
  }
}
