import { postgresExpression, postgresRefusal } from '../../lib/expressions.ts'
import { PlanRefused } from '../../model/errors.ts'
import { type Condition, type Constant, type FieldRef, holdsIfMissing, type Plan } from '../../model/plan.ts'
import {
  type Bound,
  type Comparison,
  comparisonOf,
  instantBound,
  integerBound,
  numericBound,
  textBound,
} from '../tables/bounds.ts'
import type { Cell } from '../tables/cells.ts'
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
  leaf: Leaf<'compare' | 'in' | 'matches' | 'path matches'>,
  scope: Scope,
  test: (value: string) => string,
): string {
  const value = valueSql(leaf.field, scope)
  return jsonTest(value, { negated: leaf.negated, isTrueOfNull: holdsIfMissing(leaf) }, test)
}

/** Makes SQL for a test of any JSON value. */
export function jsonTest(
  value: string,
  { negated, isTrueOfNull }: { readonly negated: boolean; readonly isTrueOfNull: boolean },
  test: (value: string) => string,
): string {
  const passed = `${negated ? 'NOT ' : ''}(${test('v.v')})`
  const ofNull = isTrueOfNull ? 'v.v IS NULL OR' : 'v.v IS NOT NULL AND'
  return `(SELECT ${ofNull} ${passed} FROM (SELECT ${value} AS v OFFSET 0) AS v)`
}

/** Makes SQL that is true if the value or, for a list, one of its elements passes the test. */
export function someOf(
  value: string,
  { list }: Pick<FieldRef, 'list'>,
  test: (one: string) => string,
): string {
  return list ? `${test(value)} OR ${someElement(value, test)}` : test(value)
}

const someElement = (value: string, test: (one: string) => string) =>
  `CASE WHEN jsonb_typeof(${value}) = 'array' THEN EXISTS (SELECT 1 FROM jsonb_array_elements(${value}) AS e (v) WHERE ${test('e.v')}) ELSE false END`

const isNumber = (value: string, test: string) =>
  `CASE WHEN jsonb_typeof(${value}) = 'number' THEN CAST(${value} AS NUMERIC) ${test} ELSE false END`

/** A constant as JSON text; undefined if `jsonb` holds none that is equal. */
export function jsonOf(constant: Constant): string | undefined {
  if (constant.kind === 'boolean') return String(constant.value)
  if (constant.kind === 'json') return storableJson(constant.json)
  if (constant.kind !== 'number') return JSON.stringify(storableInJson(constant.text))
  return isStorableNumber(constant.text) ? constant.text : undefined
}

export function compare(condition: Leaf<'compare'>, scope: Scope): string {
  const { field, operator, value, negated } = condition
  const cell = scope.cell(field)
  if (cell.kind === 'json') return jsonLeaf(condition, scope, name => compareJson(name, condition, scope))
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

function compareJson(name: string, { field, operator, value }: Leaf<'compare'>, { bind }: Scope): string {
  if (operator === '=') {
    const json = jsonOf(value)
    if (json === undefined) return 'false'
    const wanted = `CAST(${bind(json)} AS JSONB)`
    return someOf(name, field, one => `${one} = ${wanted}`)
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

export function matches(condition: Leaf<'matches'>, scope: Scope): string {
  const { field, expression, negated } = condition
  const cell = scope.cell(field)
  const wanted = `CAST(${scope.bind(dialect(expression))} AS TEXT)`
  if (cell.kind !== 'json') return `(${cell.sql}) COLLATE "C" ${negated ? '!~' : '~'} ${wanted}`
  const test = (one: string) => `${matchedText(one)} COLLATE "C" ~ ${wanted}`
  // A list is matched by its elements alone; what else stands in the place of one, as it is.
  return jsonLeaf(condition, scope, name =>
    field.list
      ? `CASE jsonb_typeof(${name}) WHEN 'array' THEN ${someElement(name, test)} ELSE ${test(name)} END`
      : test(name),
  )
}

/** The text that expressions see of `jsonb`: of a number, all digits. */
const matchedText = (value: string) =>
  `(CASE jsonb_typeof(${value}) WHEN 'number' THEN CAST(trim_scale(CAST(${value} AS NUMERIC)) AS TEXT) ELSE ${value} #>> '{}' END)`

function dialect(expression: string): string {
  const converted = postgresExpression(expression)
  if (converted !== undefined && !converted.includes('\0')) return converted
  throw new PlanRefused(
    `PostgreSQL can't match the expression ${JSON.stringify(expression)}: ${postgresRefusal(expression) ?? 'it has no NUL'}.`,
  )
}

export function pathMatches(condition: Leaf<'path matches'>, scope: Scope): string {
  const { elements } = condition
  return jsonLeaf(condition, scope, name => {
    const tests = elements.map((element, at) => {
      const value = `(${name} -> ${at})`
      if (typeof element === 'number')
        return isNumber(value, `= CAST(${scope.bind(String(element))} AS NUMERIC)`)
      const wanted = `CAST(${scope.bind(dialect(element.expression))} AS TEXT)`
      const kinds = element.indexes ? "'string', 'number'" : "'string'"
      return `CASE WHEN jsonb_typeof(${value}) IN (${kinds}) THEN ${matchedText(value)} COLLATE "C" ~ ${wanted} ELSE false END`
    })
    const all = [`jsonb_array_length(${name}) = ${elements.length}`, ...tests].join(' AND ')
    return `CASE WHEN jsonb_typeof(${name}) = 'array' THEN ${all} ELSE false END`
  })
}
