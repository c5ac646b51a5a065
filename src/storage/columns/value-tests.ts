import { compileExpression } from '../../lib/expressions.ts'
import { exactText, parseExact } from '../../lib/json.ts'
import { textForm } from '../../lib/sort-keys.ts'
import type { FieldType } from '../../model/entities.ts'
import type { Condition, Constant } from '../../model/plan.ts'
import { orderOf } from '../../model/value-order.ts'
import { ofList, pathTest, textTest } from '../plans/json-matches.ts'

/** A condition on one value. */
export type ValueCondition = Extract<Condition, { kind: 'compare' | 'in' | 'matches' | 'path matches' }>

/** What a constant stands for, as it would be read from a record. */
export function constantValue(constant: Constant): unknown {
  switch (constant.kind) {
    case 'number':
      return parseExact(constant.text)
    case 'boolean':
      return constant.value
    case 'json':
      return parseExact(constant.json)
    default:
      return constant.text
  }
}

/**
 * What a condition says of a single value that is not null, `negated` left out.
 * @param collation of the field that the value comes from
 */
export function testOf(
  condition: ValueCondition,
  type: FieldType,
  collation?: string,
): (value: unknown) => boolean {
  if (condition.kind === 'path matches') return pathTest(condition.elements)
  if (type === 'json') return jsonTest(condition)
  if (condition.kind === 'matches') {
    const test = compileExpression(condition.expression)
    return value => test(textForm(value))
  }
  const order = orderOf({ type, ...(collation !== undefined && { collation }) })
  if (condition.kind === 'in') {
    const keys = new Set(condition.values.map(constant => order.key(constantValue(constant))))
    return value => keys.has(order.key(value))
  }
  const key = order.key(constantValue(condition.value))
  const wanted = comparisons[condition.operator]
  return value => wanted(order.compare(order.key(value), key))
}

const comparisons = {
  '=': (compared: number) => compared === 0,
  '<': (compared: number) => compared < 0,
  '<=': (compared: number) => compared <= 0,
  '>': (compared: number) => compared > 0,
  '>=': (compared: number) => compared >= 0,
} as const

function jsonTest(condition: Exclude<ValueCondition, { kind: 'path matches' }>) {
  const isList = condition.field.list === true
  if (condition.kind === 'matches') return textTest(condition.expression, isList)
  if (condition.kind === 'compare' && condition.operator !== '=') {
    const { operator, value: constant } = condition
    if (constant.kind !== 'number') return () => false
    const key = scalarKey(constantValue(constant))
    const wanted = comparisons[operator]
    return (value: unknown) =>
      isNumber(value) && wanted(orderOf({ type: 'json' }).compare(scalarKey(value), key))
  }
  const constants = condition.kind === 'in' ? condition.values : [condition.value]
  const scalars = new Set(
    constants.filter(one => one.kind !== 'json').map(one => scalarKey(constantValue(one))),
  )
  const nested = constants.filter(one => one.kind === 'json').map(constantValue)
  const test = (value: unknown) =>
    isNested(value) ? nested.some(one => isSameJson(one, value)) : scalars.has(scalarKey(value))
  return isList ? ofList(test, true) : test
}

/** A text, a number or a boolean as a key that tells kinds apart. */
const scalarKey = (value: unknown) => orderOf({ type: 'json' }).key(value)

const isNumber = (value: unknown) => typeof value === 'number' || exactText(value) !== undefined

const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && exactText(value) === undefined

/** Whether two values are equal, objects in any order of their keys. It goes only as deep as the first, the constant. */
export function isSameJson(constant: unknown, value: unknown): boolean {
  if (!isNested(constant) || !isNested(value)) {
    if (isNested(constant) || isNested(value) || constant === null || value === null)
      return constant === value
    return constant === value || scalarKey(constant) === scalarKey(value)
  }
  if (Array.isArray(constant))
    return (
      Array.isArray(value) &&
      constant.length === value.length &&
      constant.every((one, at) => isSameJson(one, value[at]))
    )
  if (Array.isArray(value)) return false
  const [one, other] = [constant as Readonly<Record<string, unknown>>, value as typeof constant]
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every(key => Object.hasOwn(other, key) && isSameJson(one[key], (other as typeof one)[key]))
  )
}

/** A key that equal values of any kind have in common, and no others. */
export const equalityKey = (value: unknown): string => scalarKey(isNested(value) ? sortedKeys(value) : value)

function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys)
  if (!isNested(value)) return value
  const members = Object.entries(value).map(([key, member]) => [key, sortedKeys(member)] as const)
  return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** What a path leads to; undefined where it leads to nothing, or to null. */
export function memberAt(value: unknown, path: readonly (string | number)[]): unknown {
  let found = value
  for (const step of path) {
    if (!isNested(found)) return undefined
    if (Array.isArray(found)) {
      if (typeof step !== 'number') return undefined
      found = found[step]
    } else {
      if (typeof step !== 'string' || !Object.hasOwn(found, step)) return undefined
      found = (found as Readonly<Record<string, unknown>>)[step]
    }
  }
  return found ?? undefined
}
