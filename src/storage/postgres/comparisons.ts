import { postgresExpression, postgresRefusal } from '../../lib/expressions.ts'
import { PlanRefused } from '../../model/errors.ts'
import type { Condition, Constant, FieldRef, Plan } from '../../model/plan.ts'
import {
  type Bound,
  type Comparison,
  comparisonOf,
  instantBound,
  integerBound,
  numericBound,
  textBound,
} from '../shared/bounds.ts'
import type { Cell } from '../shared/cells.ts'
import { keyOf } from './cells.ts'
import { isStorableNumber, jsonbAt, storableInJson, storableJson } from './json.ts'

/** What conditions say of single values, as SQL. What isn't true of a record may be false or NULL. */

export interface Scope {
  readonly bind: (value: string | number | readonly string[]) => string
  /** The whole value of a field, or of a column of rows. */
  readonly cell: (field: FieldRef) => Cell
  /** The same of JSON, as `jsonb`. */
  readonly jsonb: (field: FieldRef) => string
  /** A select of the inner plan's rows, and its values in them. */
  readonly inner: (plan: Plan) => Inner
}

export interface Inner {
  readonly sql: string
  readonly cells: readonly Cell[]
}

export type Leaf<K extends Condition['kind']> = Extract<Condition, { kind: K }>

/** Of seconds, in the built-in tables' texts and in `timestamptz`. */
const digits = { time: 3, instant: 6 } as const

/** The value as `jsonb` if it is JSON. */
export function valueSql(field: FieldRef, { bind, cell, jsonb }: Scope): string {
  const { kind, sql } = cell(field)
  return kind === 'json' ? jsonbAt(jsonb(field), field.path, bind) : sql
}

/**
 * A test of a JSON value that isn't null.
 * @param test makes SQL that is true or false, of the name of the value
 */
export function jsonLeaf(
  { field, negated }: { readonly field: FieldRef; readonly negated: boolean },
  scope: Scope,
  test: (value: string) => string,
): string {
  const value = valueSql(field, scope)
  return `(SELECT v.v IS NOT NULL AND ${negated ? 'NOT ' : ''}(${test('v.v')}) FROM (SELECT ${value} AS v OFFSET 0) AS v)`
}

/** Whether the value or, if it is an array, one of its elements passes the test. */
export const someOf = (value: string, test: (one: string) => string): string =>
  `${test(value)} OR CASE WHEN jsonb_typeof(${value}) = 'array' THEN EXISTS (SELECT 1 FROM jsonb_array_elements(${value}) AS e (v) WHERE ${test('e.v')}) ELSE false END`

const isNumber = (value: string, test: string) =>
  `CASE WHEN jsonb_typeof(${value}) = 'number' THEN CAST(${value} AS NUMERIC) ${test} ELSE false END`

/** A constant as JSON text; undefined if `jsonb` holds none that is equal. */
export function jsonOf(constant: Constant): string | undefined {
  if (constant.kind === 'boolean') return String(constant.value)
  if (constant.kind === 'json') return storableJson(constant.json)
  if (constant.kind !== 'number') return JSON.stringify(storableInJson(constant.text))
  return isStorableNumber(constant.text) ? constant.text : undefined
}

export function compare({ field, operator, value, negated }: Leaf<'compare'>, scope: Scope): string {
  const cell = scope.cell(field)
  if (cell.kind === 'json')
    return jsonLeaf({ field, negated }, scope, name => compareJson(name, operator, value, scope))
  const bound = boundOf(cell, comparisonOf(operator, negated), value)
  if (bound === 'none') return 'false'
  if (bound === 'all') return `${cell.sql} IS NOT NULL`
  const type = types[cell.kind]
  const left = cell.kind === 'number' ? keyOf(cell) : cell.sql
  const right = `CAST(${scope.bind(bound.value)} AS ${type})`
  const exact = `${left} ${bound.comparison} ${right}`
  return cell.indexed === undefined || bound.comparison !== '='
    ? exact
    : `${cell.indexed} = ${right} AND ${exact}`
}

function compareJson(name: string, operator: Comparison, value: Constant, { bind }: Scope): string {
  if (operator === '=') {
    const json = jsonOf(value)
    if (json === undefined) return 'false'
    const wanted = `CAST(${bind(json)} AS JSONB)`
    return someOf(name, one => `${one} = ${wanted}`)
  }
  if (value.kind !== 'number') return 'false'
  const bound = numericBound(operator, value.text)
  if (bound === 'none') return 'false'
  if (bound === 'all') return `jsonb_typeof(${name}) = 'number'`
  return isNumber(name, `${bound.comparison} CAST(${bind(bound.value)} AS NUMERIC)`)
}

export const types: Readonly<Record<Cell['kind'], string>> = {
  text: 'TEXT',
  time: 'TEXT',
  integer: 'BIGINT',
  number: 'NUMERIC',
  numeric: 'NUMERIC',
  boolean: 'BOOLEAN',
  instant: 'TIMESTAMPTZ',
  json: 'JSONB',
}

export function boundOf({ kind }: Cell, comparison: Comparison, value: Constant): Bound {
  if (kind === 'integer' && value.kind === 'number') return integerBound(comparison, value.text)
  if ((kind === 'number' || kind === 'numeric') && value.kind === 'number')
    return numericBound(comparison, value.text)
  if (kind === 'text' && value.kind === 'text') return textBound(comparison, value.text, false)
  if (kind === 'time' && value.kind === 'instant') return instantBound(comparison, value.text, digits.time)
  if (kind === 'instant' && value.kind === 'instant') {
    const bound = instantBound(comparison, value.text, digits.instant)
    // PostgreSQL has no year 0: it calls it 1 BC.
    return typeof bound === 'string' || !bound.value.startsWith('0000')
      ? bound
      : { ...bound, value: `0001${bound.value.slice(4)} BC` }
  }
  if (kind === 'boolean' && value.kind === 'boolean') return { comparison, value: String(value.value) }
  return comparison === '<>' ? 'all' : 'none'
}

export function matches({ field, expression, negated }: Leaf<'matches'>, scope: Scope): string {
  const cell = scope.cell(field)
  const wanted = `CAST(${scope.bind(dialect(expression))} AS TEXT)`
  if (cell.kind !== 'json') return `(${cell.sql}) COLLATE "C" ${negated ? '!~' : '~'} ${wanted}`
  return jsonLeaf({ field, negated }, scope, name => someOf(name, one => matchesText(one, wanted)))
}

const matchesText = (value: string, wanted: string) =>
  `CASE WHEN jsonb_typeof(${value}) = 'string' THEN (${value} #>> '{}') COLLATE "C" ~ ${wanted} ELSE false END`

function dialect(expression: string): string {
  const converted = postgresExpression(expression)
  if (converted !== undefined && !converted.includes('\0')) return converted
  throw new PlanRefused(
    `PostgreSQL can't match the expression ${JSON.stringify(expression)}: ${postgresRefusal(expression) ?? 'it has no NUL'}.`,
  )
}

export function pathMatches({ field, elements, negated }: Leaf<'path matches'>, scope: Scope): string {
  return jsonLeaf({ field, negated }, scope, name => {
    const tests = elements.map((element, at) => {
      const value = `(${name} -> ${at})`
      if (typeof element === 'number')
        return isNumber(value, `= CAST(${scope.bind(String(element))} AS NUMERIC)`)
      return matchesText(value, `CAST(${scope.bind(dialect(element))} AS TEXT)`)
    })
    const all = [`jsonb_array_length(${name}) = ${elements.length}`, ...tests].join(' AND ')
    return `CASE WHEN jsonb_typeof(${name}) = 'array' THEN ${all} ELSE false END`
  })
}
