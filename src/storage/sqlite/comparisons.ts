import { decimalKey } from '../../lib/sort-keys.ts'
import { type Condition, type Constant, type FieldRef, holdsIfMissing, type Plan } from '../../model/plan.ts'
import {
  type Bound,
  type Comparison,
  comparisonOf,
  instantBound,
  integerBound,
  textBound,
} from '../tables/bounds.ts'
import { type Cell, isWhole } from '../tables/cells.ts'
import type { JsonTest } from '../tables/json-values.ts'
import { key } from './cells.ts'

/** What conditions say of single values, as SQL. What isn't true of a record may be false or NULL. */

export interface Scope {
  readonly bind: (value: string | number) => string
  /** The whole value of a field, or of a column of rows. */
  readonly cell: (field: FieldRef) => Cell
  /** A select of the inner plan's rows, and its values in them. */
  readonly inner: (plan: Plan) => Inner
  /** A condition that holds for every row, on the column with which the indexes of visible rows begin. */
  readonly own?: string | undefined
}

export interface Inner {
  readonly sql: string
  readonly cells: readonly Cell[]
}

export type Leaf<K extends Condition['kind']> = Extract<Condition, { kind: K }>

/** Of the built-in tables' times, whose texts sort as the instants do. */
export const timeDigits = 3

/** The JSON of a member; NULL also for JSON's null. */
export function memberSql(field: FieldRef, { bind, cell }: Scope): string {
  const { sql, kind } = cell(field)
  return kind === 'json' ? `carrel_member(${sql}, ${bind(JSON.stringify(field.path))})` : sql
}

export const valueSql = (field: FieldRef, scope: Scope): string =>
  isWhole(field) && scope.cell(field).kind !== 'json' ? scope.cell(field).sql : memberSql(field, scope)

function jsonLeaf(leaf: Leaf<'compare' | 'matches' | 'path matches'>, { bind, cell }: Scope): string {
  const { field, negated } = leaf
  const way = bind(JSON.stringify(field.path))
  const passed = `carrel_json(${cell(field).sql}, ${way}, ${bind(JSON.stringify(testOf(leaf)))})`
  if (holdsIfMissing(leaf)) return `${passed} IS NOT 1`
  return `${passed} = ${Number(!negated)}`
}

function testOf(leaf: Leaf<'compare' | 'matches' | 'path matches'>): JsonTest {
  const isList = leaf.field.list === true
  if (leaf.kind === 'compare')
    return { kind: 'compare', comparison: leaf.operator, value: leaf.value, isList }
  return leaf.kind === 'matches'
    ? { kind: 'matches', expression: leaf.expression, isList }
    : { kind: 'path matches', elements: leaf.elements, isList }
}

export function compare(condition: Leaf<'compare'>, scope: Scope): string {
  const { field, operator, value, negated } = condition
  const cell = scope.cell(field)
  if (cell.kind === 'json') return jsonLeaf(condition, scope)
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

export function boundOf({ kind }: Cell, comparison: Comparison, value: Constant): Bound {
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

export function matches(condition: Leaf<'matches'>, scope: Scope): string {
  const { field, expression, negated } = condition
  const { kind, sql } = scope.cell(field)
  if (kind === 'json') return jsonLeaf(condition, scope)
  return `carrel_matches(${sql}, ${scope.bind(expression)}) = ${Number(!negated)}`
}

export const pathMatches = (condition: Leaf<'path matches'>, scope: Scope): string =>
  jsonLeaf(condition, scope)
