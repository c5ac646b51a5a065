import { differsIfMissing, type FieldRef } from '../../model/plan.ts'
import { storableTexts } from '../tables/bounds.ts'
import type { Cell } from '../tables/cells.ts'
import { canonicalConstant } from '../tables/json-values.ts'
import { key } from './cells.ts'
import { boundOf, type Inner, type Leaf, memberSql, type Scope, valueSql } from './comparisons.ts'

/** Whether values are among others, as SQL (Q21). */

export function inValues({ field, values, negated }: Leaf<'in'>, scope: Scope): string {
  const cell = scope.cell(field)
  if (cell.kind === 'json') {
    const wanted = scope.bind(JSON.stringify(values.map(canonicalConstant)))
    return jsonIn(field, negated, `SELECT value FROM json_each(${wanted})`, scope)
  }
  const storable = values.flatMap(value => {
    const bound = boundOf(cell, '=', value)
    return typeof bound === 'string' ? [] : [bound.value]
  })
  if (storable.length === 0) return negated ? `${cell.sql} IS NOT NULL` : '0'
  const isNumber = cell.kind === 'integer' || cell.kind === 'boolean'
  const list = isNumber ? `[${storable.join()}]` : JSON.stringify(storableTexts(storable, true))
  const left = cell.kind === 'number' ? key(cell) : cell.sql
  const known = cell.nullable && !negated ? `(${cell.sql} IS NULL) = 0 AND ` : ''
  return `${known}${left} ${negated ? 'NOT ' : ''}IN (SELECT value FROM json_each(${scope.bind(list)}))`
}

/** @param wanted selects canonical texts */
function jsonIn(field: FieldRef, negated: boolean, wanted: string, scope: Scope): string {
  const sql = memberSql(field, scope)
  const found = field.list
    ? `EXISTS (SELECT 1 FROM json_each(carrel_alternatives(${sql})) AS e WHERE e.value IN (${wanted}))`
    : `carrel_canonical(${sql}) IN (${wanted})`
  if (!negated) return found
  // A missing value has no canonical text, and is in no list.
  return differsIfMissing(field) ? `(${found}) IS NOT 1` : `${sql} IS NOT NULL AND NOT ${found}`
}

export const inPlan = ({ fields, plan, negated }: Leaf<'in plan'>, scope: Scope): string =>
  among(fields, scope.inner(plan), negated, scope)

/** Rows that were read before are another table. */
export function inRows({ fields, rows, negated }: Leaf<'in rows'>, scope: Scope): string {
  const cells = fields.map(
    (field, at): Cell => ({ kind: scope.cell(field).kind, sql: `i.c${at}`, nullable: true }),
  )
  const columns = cells.map(({ kind }, at) => `${readAs(kind, at)} AS c${at}`)
  const sql = `SELECT ${columns.join(', ')} FROM json_each(${scope.bind(rows)}) AS r`
  return among(fields, { sql, cells }, negated, scope)
}

/** A value of a row; NULL if no value of the field is equal. */
function readAs(kind: Cell['kind'], at: number): string {
  const value = `r.value ->> ${at}`
  const when = (types: string, sql: string) =>
    `CASE WHEN json_type(r.value, '$[${at}]') IN (${types}) THEN ${sql} END`
  if (kind === 'json') return `r.value -> ${at}`
  if (kind === 'boolean') return when("'true', 'false'", value)
  if (kind === 'integer') return when("'integer', 'real'", value)
  if (kind === 'number') return when("'integer', 'real'", `r.value -> ${at}`)
  return when("'text'", kind === 'time' ? `carrel_time(${value})` : value)
}

function among(fields: readonly FieldRef[], inner: Inner, negated: boolean, scope: Scope): string {
  const outer = fields.map(field => ({ field, cell: scope.cell(field) }))
  const isJson = outer.map(({ cell }, at) => cell.kind === 'json' || inner.cells[at]?.kind === 'json')
  const selected = inner.cells.map((cell, at) => (isJson[at] ? canonical(cell) : key(cell)))
  const complete = inner.cells.map(({ sql }) => `${sql} IS NOT NULL`).join(' AND ')
  const wanted = `SELECT ${selected.join(', ')} FROM (${inner.sql}) AS i WHERE ${complete}`
  const [first] = outer
  if (outer.length === 1 && first?.cell.kind === 'json') return jsonIn(first.field, negated, wanted, scope)
  const values = outer.map(({ field }) => valueSql(field, scope))
  const known = outer.flatMap(({ field }, at) =>
    differsIfMissing(field) ? [] : [`${values[at]} IS NOT NULL`],
  )
  const lists = outer.flatMap(({ field }, at) =>
    field.list ? [`json_each(carrel_alternatives(${values[at]})) AS e${at}`] : [],
  )
  const left = outer.map(({ field, cell }, at) => {
    if (field.list) return `e${at}.value`
    if (cell.kind === 'json') return `carrel_canonical(${values[at]})`
    return isJson[at] ? canonical(cell) : key(cell)
  })
  const one = `${left.length === 1 ? left[0] : `(${left.join(', ')})`}`
  const found =
    lists.length === 0
      ? `${one} IN (${wanted})`
      : `EXISTS (SELECT 1 FROM ${lists.join(' CROSS JOIN ')} WHERE ${one} IN (${wanted}))`
  return [...known, negated ? `(${found}) IS NOT 1` : found].join(' AND ')
}

/** The canonical text of any value. */
function canonical(cell: Cell): string {
  const { kind, sql } = cell
  if (kind === 'json' || kind === 'number') return `carrel_canonical(${sql})`
  if (kind === 'boolean') return `carrel_canonical(iif(${sql}, 'true', 'false'))`
  return `carrel_canonical(json_quote(${sql}))`
}
