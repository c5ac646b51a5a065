import { exactText, parseExact } from '../../lib/json.ts'
import { numberText } from '../../lib/json-text.ts'
import { decimalKey } from '../../lib/sort-keys.ts'
import type { Constant, FieldRef, PathElement } from '../../model/plan.ts'
import { ofList, pathTest, textTest } from '../plans/json-matches.ts'
import type { Comparison } from './bounds.ts'

/** What JSON values are equal to, sorted by and matched with, for engines that have no exact type for them (Q20). */

/** @param json NULL of a store is null @returns undefined for null and for what is absent */
export function memberOf(json: string | null, path: FieldRef['path']): unknown {
  return json === null ? undefined : memberAt(parseExact(json), path)
}

/** The same of a value that has been read. */
export function memberAt(whole: unknown, path: FieldRef['path']): unknown {
  let value = whole
  for (const step of path) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined
    else value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  }
  return value ?? undefined
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && exactText(value) === undefined

/** The same text for equal values, and for no others. */
export function canonicalJson(value: unknown): string {
  const number = numberText(value)
  if (number !== undefined) return decimalKey(number)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value).toSorted()
  return `{${members.map(key => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join()}}`
}

/**
 * Numbers by value, then texts by code point, then booleans, false first, then nested values by their JSON: the order of
 * a field with values of several kinds in an imported entity. To be compared by code point.
 */
export function jsonSortKey(value: unknown): string {
  const number = numberText(value)
  if (number !== undefined) return `0${decimalKey(number)}`
  if (typeof value === 'string') return `1${value}`
  if (typeof value === 'boolean') return `2${Number(value)}`
  return `3${JSON.stringify(value)}`
}

/** The canonical text of a constant. */
export function canonicalConstant(constant: Constant): string {
  if (constant.kind === 'json') return canonicalJson(parseExact(constant.json))
  if (constant.kind === 'number') return decimalKey(constant.text)
  return JSON.stringify(constant.kind === 'boolean' ? constant.value : constant.text)
}

/** A list and its elements: one of them has to be equal. */
export const alternatives = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? [value, ...(value as unknown[])] : [value]

/** What a leaf asks of a value that isn't null. It is plain data, to be passed to the store as JSON. */
export type JsonTest = { readonly isList: boolean } & (
  | { readonly kind: 'compare'; readonly comparison: Exclude<Comparison, '<>'>; readonly value: Constant }
  | { readonly kind: 'matches'; readonly expression: string }
  | { readonly kind: 'path matches'; readonly elements: readonly PathElement[] }
)

export function compileJsonTest(test: JsonTest): (value: unknown) => boolean {
  if (test.kind === 'matches') return textTest(test.expression, test.isList)
  if (test.kind === 'path matches') return pathTest(test.elements)
  const { comparison, value: constant } = test
  const wanted = canonicalConstant(constant)
  if (comparison === '=') {
    const isEqual = (value: unknown) => canonicalJson(value) === wanted
    return test.isList ? ofList(isEqual, true) : isEqual
  }
  if (constant.kind !== 'number') return () => false
  return value => {
    const number = numberText(value)
    if (number === undefined) return false
    const key = decimalKey(number)
    if (comparison === '<') return key < wanted
    if (comparison === '<=') return key <= wanted
    return comparison === '>' ? key > wanted : key >= wanted
  }
}
