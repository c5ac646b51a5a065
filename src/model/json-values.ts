import { compileExpression } from '../lib/expressions.ts'
import { intervalOf } from '../lib/intervals.ts'
import { exactText, parseExact } from '../lib/json.ts'
import { matchedText, numberText } from '../lib/json-text.ts'
import { periodOf } from '../lib/periods.ts'
import { decimalKey } from '../lib/sort-keys.ts'
import { type Computed, type Condition, type Constant, eachElement, type PathElement } from './plan.ts'
import { orderOf } from './value-order.ts'

/** JSON values of records: their members, their equality, conditions on them (Q20), and what is computed of them. */

const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && exactText(value) === undefined

/** @returns the member at the path; undefined if there is none, or it is null */
export function memberAt(value: unknown, path: readonly (string | number)[]): unknown {
  let found = value
  for (const [at, step] of path.entries()) {
    if (!isNested(found)) return undefined
    if (step === eachElement) return Array.isArray(found) ? inElements(found, path.slice(at + 1)) : undefined
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

/** Lists the members of the elements, in one list where a member is a list of elements itself. */
function inElements(elements: readonly unknown[], path: readonly (string | number)[]): unknown {
  const isOfLists = path.includes(eachElement)
  const members = elements.flatMap(element => {
    const member = memberAt(element, path)
    return member === undefined ? [] : isOfLists ? (member as unknown[]) : [member]
  })
  return members.length === 0 ? undefined : members
}

/** Writes a path as queries do. */
export const writtenPath = (name: string, path: readonly (string | number)[]): string =>
  name +
  path
    .map(step =>
      typeof step === 'string'
        ? /^[\p{L}\p{N}_-]+$/u.test(step)
          ? `.${step}`
          : `."${step}"`
        : `[${step === eachElement ? '*' : step}]`,
    )
    .join('')

/** Returns one text for equal values, and different ones for others. */
export function canonicalJson(value: unknown): string {
  const number = numberText(value)
  if (number !== undefined) return decimalKey(number)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (!isNested(value)) return JSON.stringify(value) ?? 'null'
  const object = value as Readonly<Record<string, unknown>>
  const members = Object.keys(object).toSorted()
  return `{${members.map(key => `${JSON.stringify(key)}:${canonicalJson(object[key])}`).join()}}`
}

/** A constant as it would be read from a record. */
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

/** A test of a value that isn't null. */
type Test = (value: unknown) => boolean

/** Comparisons by the sign of the difference. */
export const comparisons = {
  '=': (compared: number) => compared === 0,
  '<': (compared: number) => compared < 0,
  '<=': (compared: number) => compared <= 0,
  '>': (compared: number) => compared > 0,
  '>=': (compared: number) => compared >= 0,
} as const

/** A condition on one value. */
export type ValueCondition = Extract<Condition, { kind: 'compare' | 'in' | 'matches' | 'path matches' }>

/** The condition as a test, with `negated` left out. */
export function jsonTest(condition: ValueCondition): Test {
  if (condition.kind === 'path matches') return pathTest(condition.elements)
  const isList = condition.field.list === true
  if (condition.kind === 'matches') {
    const matches = compileExpression(condition.expression)
    const test = (value: unknown) => matches.test(matchedText(value))
    return isList ? ofList(test, false) : test
  }
  if (condition.kind === 'compare' && condition.operator !== '=') {
    const { operator, value: constant } = condition
    if (constant.kind !== 'number') return () => false
    const key = scalarKey(constantValue(constant))
    const holds = comparisons[operator]
    const test = (value: unknown) =>
      numberText(value) !== undefined && holds(order.compare(scalarKey(value), key))
    return isList ? ofList(test, false) : test
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

const order = orderOf({ type: 'json' })
/** A text, a number or a boolean as a key that tells kinds apart. */
const scalarKey = order.key

/** True if the values are equal, objects in any order of their keys. It goes only as deep as the constant. */
function isSameJson(constant: unknown, value: unknown): boolean {
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

/** Makes a test that passes if an element of a list does. @param isWhole true if the list may pass as well */
const ofList =
  (test: Test, isWhole: boolean): Test =>
  value =>
    Array.isArray(value)
      ? (isWhole && test(value)) || value.some(element => element !== null && test(element))
      : test(value)

/** A test by the operator `~>`. */
function pathTest(elements: readonly PathElement[]): Test {
  const tests = elements.map(elementTest)
  return value =>
    Array.isArray(value) && value.length === tests.length && tests.every((test, at) => test(value[at]))
}

function elementTest(element: PathElement): Test {
  if (typeof element === 'number') {
    const wanted = decimalKey(String(element))
    return value => {
      const number = numberText(value)
      return number !== undefined && decimalKey(number) === wanted
    }
  }
  const matches = compileExpression(element.expression)
  return value =>
    (typeof value === 'string' || (element.indexes && numberText(value) !== undefined)) &&
    matches.test(matchedText(value))
}

/**
 * Computes a value of another one (docs/decisions/0074).
 * @param value not null, with exact numbers
 * @returns its JSON; undefined if there is none
 */
export function computedOf(computed: Computed, value: unknown): string | undefined {
  switch (computed.kind) {
    case 'interval': {
      const number = numberText(value)
      return number === undefined ? undefined : intervalOf(number, computed.width)
    }
    case 'period': {
      const start = typeof value === 'string' ? periodOf(value, computed.unit) : undefined
      return start && JSON.stringify(start)
    }
    case 'length':
      return Array.isArray(value) ? String(value.length) : undefined
  }
}

/** True if no other value comes between two values of which the same is computed. */
export const isGradual = ({ kind }: Computed): boolean => kind === 'interval' || kind === 'period'
