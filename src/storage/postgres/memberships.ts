import { differsIfMissing, type FieldRef } from '../../model/plan.ts'
import type { Cell } from '../tables/cells.ts'
import { keyOf } from './cells.ts'
import {
  boundOf,
  type Inner,
  jsonLeaf,
  jsonOf,
  jsonTest,
  type Leaf,
  type Scope,
  someOf,
  types,
  valueSql,
} from './comparisons.ts'
import { alternativesOf, storableRows } from './json.ts'

/** Whether values are among others, as SQL (Q21). */

export function inValues(condition: Leaf<'in'>, scope: Scope): string {
  const { field, values, negated } = condition
  const cell = scope.cell(field)
  if (cell.kind === 'json') {
    const list = values.flatMap(value => jsonOf(value) ?? [])
    const wanted = `CAST(${scope.bind(list)} AS JSONB[])`
    return jsonLeaf(condition, scope, name => someOf(name, field, one => `${one} = ANY(${wanted})`))
  }
  const storable = values.flatMap(value => {
    const bound = boundOf(cell, '=', value)
    return typeof bound === 'string' ? [] : [bound.value]
  })
  if (storable.length === 0) return negated ? `${cell.sql} IS NOT NULL` : 'false'
  const list = `CAST(${scope.bind(storable)} AS ${types[cell.kind]}[])`
  const left = cell.kind === 'number' ? keyOf(cell) : cell.sql
  if (negated) return `${left} <> ALL(${list})`
  const exact = `${left} = ANY(${list})`
  return cell.indexed === undefined ? exact : `${cell.indexed} = ANY(${list}) AND ${exact}`
}

export const inPlan = ({ fields, plan, negated }: Leaf<'in plan'>, scope: Scope): string =>
  among(fields, scope.inner(plan), negated, scope)

/** Rows that were read before are another table. */
export function inRows({ fields, rows, negated }: Leaf<'in rows'>, scope: Scope): string {
  const kinds = fields.map(field => scope.cell(field).kind)
  const cells = kinds.map((kind, at): Cell => ({ kind: kindOfRows(kind), sql: `i.c${at}`, nullable: true }))
  const columns = kinds.map((kind, at) => `${readAs(kind, at)} AS c${at}`)
  const isText = kinds.map(kind => kind === 'text')
  const json = scope.bind(storableRows(rows, isText))
  const sql = `SELECT ${columns.join(', ')} FROM jsonb_array_elements(CAST(${json} AS JSONB)) AS r (v)`
  return among(fields, { sql, cells }, negated, scope)
}

/** A time in a built-in table is compared as an instant. */
const kindOfRows = (kind: Cell['kind']): Cell['kind'] =>
  kind === 'time' ? 'instant' : kind === 'number' ? 'numeric' : kind

/** A value of a row; NULL if no value of the field is equal. */
function readAs(kind: Cell['kind'], at: number): string {
  const value = `(r.v -> ${at})`
  const when = (type: string, test: string, sql: string) =>
    `CASE WHEN jsonb_typeof(${value}) = '${type}' THEN CASE WHEN ${test} THEN ${sql} END END`
  switch (kind) {
    case 'json':
      return `CAST(${value} AS TEXT)`
    case 'boolean':
      return when('boolean', 'true', `CAST(${value} AS BOOLEAN)`)
    case 'integer': {
      const number = `CAST(${value} AS NUMERIC)`
      const fits = `${number} = trunc(${number}) AND abs(${number}) <= 9223372036854775807`
      return when('number', fits, `CAST(${number} AS BIGINT)`)
    }
    case 'number':
    case 'numeric':
      return when('number', 'true', `CAST(${value} AS NUMERIC)`)
    case 'text':
      return when('string', 'true', `(r.v ->> ${at}) COLLATE "C"`)
    default:
      // Leap seconds, the year 0, and more digits than there are would be rounded, or an error.
      return when('string', `r.v ->> ${at} ~ '${instants}'`, `CAST(r.v ->> ${at} AS TIMESTAMPTZ)`)
  }
}

/** Without backslashes, which may be escapes. */
const instants = '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9]([.][0-9]{1,6}0*)?Z$'

function among(fields: readonly FieldRef[], inner: Inner, negated: boolean, scope: Scope): string {
  const outer = fields.map(scope.cell)
  const isJson = outer.map((cell, at) => cell.kind === 'json' || inner.cells[at]?.kind === 'json')
  const wanted = inner.cells.map((cell, at) => comparable(cell, isJson[at] === true))
  const complete = inner.cells.map(({ sql }) => `${sql} IS NOT NULL`)
  const [first] = fields
  if (first !== undefined && fields.length === 1 && outer[0]?.kind === 'json') {
    const select = `SELECT ${wanted[0]} FROM (${inner.sql}) AS i WHERE ${complete.join(' AND ')}`
    const ofNull = { negated, isTrueOfNull: negated && differsIfMissing(first) }
    return jsonTest(valueSql(first, scope), ofNull, name =>
      someOf(name, first, one => `${one} IN (${select})`),
    )
  }
  const values = fields.map(field => valueSql(field, scope))
  const elements = values.flatMap((value, at) => {
    if (outer[at]?.kind !== 'json') return []
    const own = `, (SELECT ${value} AS v OFFSET 0) AS o${at}`
    return fields[at]?.list
      ? [`${own}, jsonb_array_elements(${alternativesOf(`o${at}.v`)}) AS e${at} (v)`]
      : [own]
  })
  const equal = outer.map((cell, at) => {
    if (cell.kind !== 'json') return `${comparable(cell, isJson[at] === true)} = ${wanted[at]}`
    return `${fields[at]?.list ? 'e' : 'o'}${at}.v = ${wanted[at]}`
  })
  const found = `EXISTS (SELECT 1 FROM (${inner.sql}) AS i${elements.join('')} WHERE ${[...complete, ...equal].join(' AND ')})`
  const known = fields.flatMap((field, at) => (differsIfMissing(field) ? [] : [`${values[at]} IS NOT NULL`]))
  return [...known, `${negated ? 'NOT ' : ''}${found}`].join(' AND ')
}

/** In the form in which the values of both sides are equal: numbers as such, and JSON as `jsonb`. */
function comparable(cell: Cell, asJson: boolean): string {
  if (asJson && cell.kind !== 'json') return `to_jsonb(${keyOf(cell)})`
  return cell.kind === 'time' ? `CAST(${cell.sql} AS TIMESTAMPTZ)` : keyOf(cell)
}
