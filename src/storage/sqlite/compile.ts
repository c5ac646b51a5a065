import type { Entity, Field, Page, TableSource } from '../../model/entities.ts'
import {
  counterColumn,
  isCollectingCheaper,
  type VisibleRows,
  viewPrefixes,
} from '../shared/row-visibility.ts'

/** From a plan to SQL, for entities that are tables. Pure: names come from the entity's own list, values are bound. */
export interface Statement {
  readonly sql: string
  readonly values: readonly (number | string)[]
}

/** How to read a page. */
export interface TablePlan {
  /** How many rows the viewer sees, and how many there are; null where nobody needs to know. */
  readonly counts: Statement | null
  /** Rows of one column: the record as JSON. */
  readonly page: Statement
  /** The same, for who sees next to nothing of many. */
  readonly gathered: Statement | null
  /** Where the page ends, counted from the first row; null: at the last one. */
  readonly end: number | null
}

export function compileTable(
  entity: Entity,
  { table, rows: rule }: TableSource,
  page: Page,
  rows: VisibleRows,
): TablePlan {
  const select = `SELECT json_object(${entity.fields.map(field => `${literal(field.name)}, ${jsonValue(field)}`).join(', ')}) AS json`
  const nullable = new Set(entity.fields.filter(field => field.nullable).map(field => field.name))
  const order = [...page.order, ...[entity.key].flat().map(field => ({ field, descending: false }))]
    .map(({ field, descending }) => sorted(field, descending, nullable.has(field)))
    .join(', ')
  // SQLite takes an OFFSET only behind a LIMIT; -1 is none (https://sqlite.org/lang_select.html#limitoffset).
  const ordered = `ORDER BY ${order} LIMIT ? OFFSET ?`
  const cut = [page.limit ?? -1, page.offset]
  const isCounted = page.total || page.limit !== null
  const from = name(`${viewPrefixes[rows.kind]}${table}`)

  const end = page.limit === null ? null : page.offset + page.limit

  if (rows.kind === 'audiences') {
    const counter = counterColumn(table)
    const ids = `[${rows.ids.join()}]`
    const seen = '(SELECT value FROM json_each(?))'
    return {
      counts: {
        sql: `SELECT (SELECT sum(${counter}) FROM audience WHERE id IN ${seen}) AS seen, (SELECT sum(${counter}) FROM audience) AS "all"`,
        values: [ids],
      },
      // + keeps SQLite from going by audience, which would mean to sort (https://sqlite.org/optoverview.html#uplus).
      page: { sql: `${select} FROM ${from} WHERE +audience IN ${seen} ${ordered}`, values: [ids, ...cut] },
      // CROSS JOIN keeps its loops in the order written: audience by audience, over their index.
      gathered: {
        sql: `${select} FROM (SELECT value AS seen FROM json_each(?)) CROSS JOIN ${from} ON audience = seen ${ordered}`,
        values: [ids, ...cut],
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
    page: { sql: `${select} FROM ${from} ${where} ${ordered}`, values: [...values, ...cut] },
    gathered: null,
    end,
  }
}

/** @param seen and @param all as `counts` gave them */
export const choosePage = ({ page, gathered, end }: TablePlan, seen: number, all: number): Statement =>
  gathered !== null && isCollectingCheaper(seen, all, Math.min(end ?? all, all)) ? gathered : page

/**
 * Nulls last ascending and first descending (Q6), in the words of the indexes. Where there is no null, saying where it
 * goes would only keep SQLite from its index.
 */
const sorted = (field: string, descending: boolean, nullable: boolean) => {
  const direction = descending ? ' DESC' : ''
  return `${nullable ? `${name(field)} IS NULL${direction}, ` : ''}${name(field)}${direction}`
}

const name = (text: string) => `"${text.replaceAll('"', '""')}"`
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

/** SQLite has neither booleans nor JSON as types of a column. */
function jsonValue(field: Field): string {
  if (field.type === 'boolean') return `json(iif(${name(field.name)}, 'true', 'false'))`
  if (field.type === 'json') return `json(${name(field.name)})`
  return name(field.name)
}
