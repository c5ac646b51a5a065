import type { Entity, Field, Page, TableSource } from '../../model/entities.ts'
import { maskOf } from '../shared/hidden-metadata.ts'
import {
  counterColumn,
  isCollectingCheaper,
  type VisibleRows,
  viewPrefixes,
} from '../shared/row-visibility.ts'
import { totalOrder } from '../shared/total-order.ts'
import { tick } from './driver.ts'

/** SQL for entities that are tables. Pure: names come from the entity's own fields, and values are bound. */
export interface Statement {
  readonly sql: string
  readonly values: readonly (number | string)[]
}

/** The statements that read a page. */
export interface TablePlan {
  /** Counts the rows that the viewer sees, and all rows; null if neither is needed. */
  readonly counts: Statement | null
  /** Returns rows of one column: the record as JSON. */
  readonly page: Statement
  /** The same page, if collecting and sorting all visible rows is cheaper; null: never. */
  readonly collectedPage: Statement | null
  /** The position after the last row of the page; null: it has no limit. */
  readonly end: number | null
}

export function compileTable(
  entity: Entity,
  { table, rows: rule }: TableSource,
  page: Page,
  rows: VisibleRows,
): TablePlan {
  const column = (field: string) => shown(field, rows.kind === 'audiences' ? rows.hidden : undefined)
  const select = `SELECT json_object(${entity.fields.map(field => `${literal(field.name)}, ${jsonValue(field, column(field.name))}`).join(', ')}) AS json`
  const nullable = new Set(entity.fields.filter(field => field.nullable).map(field => field.name))
  const order = totalOrder(entity, page.order)
    .map(({ field, descending }) => orderTerm(column(field), descending, nullable.has(field)))
    .join(', ')
  // SQLite accepts OFFSET only after LIMIT; -1 means no limit (https://sqlite.org/lang_select.html#limitoffset).
  const ordered = `ORDER BY ${order} LIMIT ? OFFSET ?`
  const limits = [page.limit ?? -1, page.offset]
  const isCounted = page.total || page.limit !== null
  const from = name(`${viewPrefixes[rows.kind]}${table}`)
  const end = page.limit === null ? null : page.offset + page.limit

  if (rows.kind === 'audiences') {
    const counter = counterColumn(table)
    const ids = `[${rows.ids.join()}]`
    const wanted = '(SELECT value FROM json_each(?))'
    return {
      counts: {
        sql: `SELECT (SELECT sum(${counter}) FROM audience WHERE id IN ${wanted}) AS seen, (SELECT sum(${counter}) FROM audience) AS "all"`,
        values: [ids],
      },
      // + keeps SQLite from using the index by audience, which would need a sort (https://sqlite.org/optoverview.html#uplus).
      page: {
        sql: `${select} FROM ${from} WHERE +audience IN ${wanted} AND ${tick} ${ordered}`,
        values: [ids, ...limits],
      },
      // CROSS JOIN keeps the order of the loops: one audience after another, through the index.
      collectedPage: {
        sql: `${select} FROM (SELECT value AS seen FROM json_each(?)) CROSS JOIN ${from} ON audience = seen WHERE ${tick} ${ordered}`,
        values: [ids, ...limits],
      },
      end,
    }
  }
  const [where, values] = rows.kind === 'own' ? ['WHERE eperson = ?', [rows.eperson]] : ['', []]
  const count =
    rule === 'audience'
      ? `SELECT sum(${counterColumn(table)}) AS seen, 0 AS "all" FROM audience`
      : `SELECT count(*) AS seen, 0 AS "all" FROM ${from} ${where}`
  return {
    counts: isCounted ? { sql: count, values } : null,
    page: {
      sql: `${select} FROM ${from} ${where === '' ? 'WHERE' : `${where} AND`} ${tick} ${ordered}`,
      values: [...values, ...limits],
    },
    collectedPage: null,
    end,
  }
}

/** @param visible and @param total the result of `counts` @returns the statement, and about how many rows it reads */
export function choosePage({ page, collectedPage, end }: TablePlan, visible: number, total: number) {
  // Unless all rows were counted, every row that it reads is visible.
  if (total === 0) return { statement: page, reads: end ?? Number.POSITIVE_INFINITY }
  const last = Math.min(end ?? total, total)
  if (collectedPage !== null && isCollectingCheaper(visible, total, last))
    return { statement: collectedPage, reads: visible }
  return { statement: page, reads: last >= visible ? total : (last * total) / visible }
}

/**
 * Nulls last ascending and first descending (Q6), written as in the indexes. For a column without nulls, that expression
 * would only keep SQLite from using its index.
 */
const orderTerm = (column: string, descending: boolean, nullable: boolean) => {
  const direction = descending ? ' DESC' : ''
  return `${nullable ? `${column} IS NULL${direction}, ` : ''}${column}${direction}`
}

const name = (text: string) => `"${text.replaceAll('"', '""')}"`
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

/** SQLite has no column types for booleans or JSON. */
function jsonValue(field: Field, column: string): string {
  if (field.type === 'boolean') return `json(iif(${column}, 'true', 'false'))`
  if (field.type === 'json') return `json(${column})`
  return column
}

/** A column as it is shown (Q19). */
function shown(field: string, hidden: readonly string[] | undefined): string {
  const mask = maskOf(field, hidden)
  if (mask === undefined) return name(field)
  if (mask.kind === 'null') return 'NULL'
  if (mask.kind === 'empty list') return literal('[]')
  return `json_remove(${[name(field), ...mask.fields.map(one => literal(`$."${one}"`))].join(', ')})`
}
