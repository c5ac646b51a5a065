import { decimalKey } from '../../lib/sort-keys.ts'
import type { Condition, Constant, FieldRef } from '../../model/plan.ts'
import {
  type Bound,
  type Comparison,
  comparisonOf,
  instantBound,
  integerBound,
  storableTexts,
  textBound,
} from '../shared/bounds.ts'
import { type Cell, isWhole, joinBalanced, searchText } from '../shared/cells.ts'
import { canonicalConstant, type JsonTest } from '../shared/json-values.ts'
import { key } from './cells.ts'

/** Conditions as SQL (Q20, Q21). What isn't true of a record may be false or NULL. */
export interface Scope {
  readonly bind: (value: string | number) => string
  /** The whole value of a field, or of a column of rows. */
  readonly cell: (field: FieldRef) => Cell
  /** A select of the inner plan's rows, and its values in them. */
  readonly inner: (plan: Leaf<'in plan'>['plan']) => { readonly sql: string; readonly cells: readonly Cell[] }
}

type Leaf<K extends Condition['kind']> = Extract<Condition, { kind: K }>

/** Of the built-in tables' times, whose texts sort as the instants do. */
const timeDigits = 3

export function compileCondition(condition: Condition, scope: Scope): string {
  switch (condition.kind) {
    case 'and':
    case 'or': {
      const terms = condition.of.map(one => `(${compileCondition(one, scope)})`)
      if (terms.length === 0) return condition.kind === 'and' ? '1' : '0'
      return joinBalanced(terms, condition.kind === 'and' ? 'AND' : 'OR')
    }
    case 'none':
      return '0'
    case 'null': {
      const sql = valueSql(condition.field, scope)
      return `${sql} IS ${condition.negated ? 'NOT ' : ''}NULL`
    }
    case 'compare':
      return compare(condition, scope)
    case 'in':
      return inValues(condition, scope)
    case 'in plan':
      return inPlan(condition, scope)
    case 'matches': {
      const cell = scope.cell(condition.field)
      if (cell.kind === 'json')
        return jsonLeaf(condition, { kind: 'matches', expression: condition.expression }, scope)
      return `carrel_matches(${cell.sql}, ${scope.bind(condition.expression)}) = ${Number(!condition.negated)}`
    }
    case 'in rows':
      throw new Error('rows that were read before are not compiled yet')
    case 'path matches':
      return jsonLeaf(condition, { kind: 'path matches', elements: condition.elements }, scope)
    case 'text':
      return searchText()
  }
}

/** The JSON of a member; NULL also for JSON's null. */
function memberSql(field: FieldRef, { bind, cell }: Scope): string {
  const { sql, kind } = cell(field)
  return kind === 'json' ? `carrel_member(${sql}, ${bind(JSON.stringify(field.path))})` : sql
}

const valueSql = (field: FieldRef, scope: Scope): string =>
  isWhole(field) && scope.cell(field).kind !== 'json' ? scope.cell(field).sql : memberSql(field, scope)

function jsonLeaf(
  { field, negated }: { readonly field: FieldRef; readonly negated: boolean },
  test: JsonTest,
  { bind, cell }: Scope,
): string {
  const { sql } = cell(field)
  const way = bind(JSON.stringify(field.path))
  return `carrel_json(${sql}, ${way}, ${bind(JSON.stringify(test))}) = ${Number(!negated)}`
}

function compare({ field, operator, value, negated }: Leaf<'compare'>, scope: Scope): string {
  const cell = scope.cell(field)
  if (cell.kind === 'json')
    return jsonLeaf({ field, negated }, { kind: 'compare', comparison: operator, value }, scope)
  const comparison = comparisonOf(operator, negated)
  const bound = boundOf(cell, comparison, value)
  // The first term is that of the indexes (`sort` in cells.ts).
  const known = cell.nullable ? `(${cell.sql} IS NULL) = 0` : ''
  if (bound === 'none') return '0'
  if (bound === 'all') return `${cell.sql} IS NOT NULL`
  const left = cell.kind === 'number' ? key(cell) : cell.sql
  const isInteger = cell.kind === 'integer' || cell.kind === 'boolean'
  const right = scope.bind(isInteger ? integerOf(bound.value) : bound.value)
  const typed = isInteger ? `CAST(${right} AS INTEGER)` : right
  return `${known === '' ? '' : `${known} AND `}${left} ${bound.comparison} ${typed}`
}

/** As a number where that is exact, because SQLite doesn't use an index for every CAST. */
const integerOf = (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : text)

function boundOf({ kind }: Cell, comparison: Comparison, value: Constant): Bound {
  if (kind === 'integer' && value.kind === 'number') return integerBound(comparison, value.text)
  if (kind === 'number' && value.kind === 'number') return { comparison, value: decimalKey(value.text) }
  if (kind === 'text' && value.kind === 'text') return textBound(comparison, value.text, true)
  if (kind === 'time' && value.kind === 'instant') return instantBound(comparison, value.text, timeDigits)
  if (kind === 'boolean' && value.kind === 'boolean') {
    // false comes before true, as 0 before 1.
    return integerBound(comparison, value.value ? '1' : '0')
  }
  return comparison === '<>' ? 'all' : 'none'
}

function inValues({ field, values, negated }: Leaf<'in'>, scope: Scope): string {
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
  const found = `EXISTS (SELECT 1 FROM json_each(carrel_alternatives(${sql})) AS e WHERE e.value IN (${wanted}))`
  return negated ? `${sql} IS NOT NULL AND NOT ${found}` : found
}

function inPlan({ fields, plan, negated }: Leaf<'in plan'>, scope: Scope): string {
  const inner = scope.inner(plan)
  const outer = fields.map(field => ({ field, cell: scope.cell(field) }))
  const isJson = outer.map(({ cell }, at) => cell.kind === 'json' || inner.cells[at]?.kind === 'json')
  const selected = inner.cells.map((cell, at) => (isJson[at] ? canonical(cell) : key(cell)))
  const complete = inner.cells.map(({ sql }) => `${sql} IS NOT NULL`).join(' AND ')
  const wanted = `SELECT ${selected.join(', ')} FROM (${inner.sql}) AS i WHERE ${complete}`
  const [first] = outer
  if (outer.length === 1 && first?.cell.kind === 'json') return jsonIn(first.field, negated, wanted, scope)
  const values = outer.map(({ field }) => valueSql(field, scope))
  const known = values.map(sql => `${sql} IS NOT NULL`).join(' AND ')
  const others = outer.flatMap(({ cell }, at) =>
    cell.kind === 'json' ? [`json_each(carrel_alternatives(${values[at]})) AS e${at}`] : [],
  )
  const left = outer.map(({ cell }, at) =>
    cell.kind === 'json' ? `e${at}.value` : isJson[at] ? canonical(cell) : key(cell),
  )
  const one = `${left.length === 1 ? left[0] : `(${left.join(', ')})`}`
  const found =
    others.length === 0
      ? `${one} IN (${wanted})`
      : `EXISTS (SELECT 1 FROM ${others.join(' CROSS JOIN ')} WHERE ${one} IN (${wanted}))`
  return `${known} AND ${negated ? `NOT (${found})` : found}`
}

/** The canonical text of any value. */
function canonical(cell: Cell): string {
  const { kind, sql } = cell
  if (kind === 'json' || kind === 'number') return `carrel_canonical(${sql})`
  if (kind === 'boolean') return `carrel_canonical(iif(${sql}, 'true', 'false'))`
  return `carrel_canonical(json_quote(${sql}))`
}
