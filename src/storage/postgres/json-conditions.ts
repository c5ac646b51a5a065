import { PlanRefused } from '../../lib/errors.ts'
import { postgresExpression, postgresRefusal } from '../../lib/expressions.ts'
import { holdsIfMissing } from '../../model/operators/list.ts'
import {
  type Constant,
  differsIfMissing,
  type FieldRef,
  type Leaf,
  type ValueCondition,
} from '../../model/plan.ts'
import { numericBound } from '../tables/bounds.ts'
import type { Bind } from '../tables/cells.ts'
import type { Outer } from '../tables/dialect.ts'
import type { Value } from './driver.ts'
import { isStorableNumber, storableInJson, storableJson } from './json.ts'

/** Conditions on JSON, as SQL on `jsonb`. */

/** @param value of the leaf's field */
export function testJson(leaf: ValueCondition, value: string, bind: Bind<Value>): string {
  return whereKnown(value, leaf.negated, holdsIfMissing(leaf), testOf(leaf, bind))
}

/** @param select of one column of `jsonb` */
export function jsonAmong(
  { field, value }: Pick<Outer, 'field' | 'value'>,
  select: string,
  negated: boolean,
) {
  const test = someOf(field, one => `${one} IN (${select})`)
  return whereKnown(value, negated, negated && differsIfMissing(field), test)
}

/** The SQL name of the value that is tested. */
const it = 'v.v'

/** @param test is true or false of a value that isn't null */
const whereKnown = (value: string, negated: boolean, isTrueOfNull: boolean, test: string): string =>
  `(SELECT ${it} ${isTrueOfNull ? 'IS NULL OR' : 'IS NOT NULL AND'} ${negated ? 'NOT ' : ''}(${test}) FROM (SELECT ${value} AS v OFFSET 0) AS v)`

function testOf(leaf: ValueCondition, bind: Bind<Value>): string {
  switch (leaf.kind) {
    case 'compare':
      return compared(leaf, bind)
    case 'in': {
      const wanted = `CAST(${bind(leaf.values.flatMap(value => jsonOf(value) ?? []))} AS JSONB[])`
      return someOf(leaf.field, one => `${one} = ANY(${wanted})`)
    }
    case 'matches': {
      const pattern = patternOf(leaf.expression, bind)
      const test = (one: string) => matchesText(one, pattern)
      // A list is matched by its elements alone; any other value in its place, as it is.
      return leaf.field.list
        ? `CASE jsonb_typeof(${it}) WHEN 'array' THEN ${someElement(test)} ELSE ${test(it)} END`
        : test(it)
    }
    case 'path matches': {
      const tests = leaf.elements.map((element, at) => {
        const value = `(${it} -> ${at})`
        if (typeof element === 'number') return isNumber(value, `= CAST(${bind(String(element))} AS NUMERIC)`)
        const kinds = element.indexes ? "'string', 'number'" : "'string'"
        return `CASE WHEN jsonb_typeof(${value}) IN (${kinds}) THEN ${matchesText(value, patternOf(element.expression, bind))} ELSE false END`
      })
      const all = [`jsonb_array_length(${it}) = ${tests.length}`, ...tests].join(' AND ')
      return `CASE WHEN jsonb_typeof(${it}) = 'array' THEN ${all} ELSE false END`
    }
  }
}

function compared({ field, operator, value }: Leaf<'compare'>, bind: Bind<Value>): string {
  if (operator === '=') {
    const json = jsonOf(value)
    if (json === undefined) return 'false'
    const wanted = `CAST(${bind(json)} AS JSONB)`
    return someOf(field, one => `${one} = ${wanted}`)
  }
  if (value.kind !== 'number') return 'false'
  const bound = numericBound(operator, value.text)
  if (bound === 'none') return 'false'
  if (bound === 'all') return someOf(field, one => `jsonb_typeof(${one}) = 'number'`)
  const limit = `${bound.comparison} CAST(${bind(bound.value)} AS NUMERIC)`
  return someOf(field, one => isNumber(one, limit))
}

/** A constant as JSON text; undefined if `jsonb` holds none that is equal. */
function jsonOf(constant: Constant): string | undefined {
  if (constant.kind === 'boolean') return String(constant.value)
  if (constant.kind === 'json') return storableJson(constant.json)
  if (constant.kind !== 'number') return JSON.stringify(storableInJson(constant.text))
  return isStorableNumber(constant.text) ? constant.text : undefined
}

/** True if the value or, of a list, one of its elements passes the test. */
const someOf = ({ list }: Pick<FieldRef, 'list'>, test: (one: string) => string) =>
  list ? `${test(it)} OR ${someElement(test)}` : test(it)

const someElement = (test: (one: string) => string) =>
  `CASE WHEN jsonb_typeof(${it}) = 'array' THEN EXISTS (SELECT 1 FROM jsonb_array_elements(${it}) AS e (v) WHERE ${test('e.v')}) ELSE false END`

const isNumber = (value: string, test: string) =>
  `CASE WHEN jsonb_typeof(${value}) = 'number' THEN CAST(${value} AS NUMERIC) ${test} ELSE false END`

const matchesText = (value: string, pattern: string) => `${matchedText(value)} COLLATE "C" ~ ${pattern}`

/** The text that expressions see of `jsonb`: of a number, all digits. */
const matchedText = (value: string) =>
  `(CASE jsonb_typeof(${value}) WHEN 'number' THEN CAST(trim_scale(CAST(${value} AS NUMERIC)) AS TEXT) ELSE ${value} #>> '{}' END)`

/** @throws PlanRefused for an expression that PostgreSQL can't match */
export function patternOf(expression: string, bind: Bind<Value>): string {
  const converted = postgresExpression(expression)
  if (converted !== undefined && !converted.includes('\0')) return `CAST(${bind(converted)} AS TEXT)`
  throw new PlanRefused(
    `PostgreSQL can't match the expression ${JSON.stringify(expression)}: ${postgresRefusal(expression) ?? 'it has no NUL'}.`,
  )
}
