import { decimalKey } from '../lib/decimals.ts'
import { exactText, numberText, parseExact } from '../lib/json.ts'
import { type Constant, eachElement, type FieldRef } from './plan.ts'
import { orderOf, type ValueOrder } from './value-order.ts'

/** JSON values of records: their members, and their equality (Q20). */

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

type Test = (value: unknown) => boolean

/** A test by which a value or, of a list, one of its elements equals a constant. */
export function equalTest(field: FieldRef, constants: readonly Constant[], { key }: ValueOrder): Test {
  const plain = constants.filter(one => one.kind !== 'json')
  const keys = new Set(plain.map(one => key(constantValue(one))))
  const nested = constants.filter(one => one.kind === 'json').map(constantValue)
  const test = (value: unknown) =>
    isNested(value) ? nested.some(one => isSameJson(one, value)) : keys.has(key(value))
  const ofElements = elementTest(field, test)
  return field.list ? value => (Array.isArray(value) && test(value)) || ofElements(value) : test
}

/** Makes a test that, of a list, an element has to pass. */
export const elementTest = ({ list }: FieldRef, test: Test): Test =>
  list
    ? value => (Array.isArray(value) ? value.some(element => element !== null && test(element)) : test(value))
    : test

const scalarKey = orderOf({ type: 'json' }).key

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
