import { hash } from 'node:crypto'
import { decimalKey } from '../../lib/decimals.ts'
import { compileExpression } from '../../lib/expressions.ts'
import { numberText, parseExact } from '../../lib/json.ts'
import { RecentlyUsed } from '../../lib/memo.ts'
import type { NumberFold } from '../../model/functions/function.ts'
import { computedValue, functions as known } from '../../model/functions/functions.ts'
import { canonicalJson, memberAt } from '../../model/json-values.ts'
import { testOf } from '../../model/operators/list.ts'
import type { Computed, FieldRef, TextQuery, ValueCondition } from '../../model/plan.ts'
import { matchesText, relevanceOf, searchable, textsIn } from '../../model/text-query.ts'
import { digits, instantBound } from '../tables/bounds.ts'
import type { OpenOptions, SqlValue } from './driver.ts'

/** Functions for queries: SQLite lacks regular expressions, exact numbers, and equality of JSON. */

/**
 * Maximum number of compiled arguments that a thread keeps. Several statements with a few each take turns. An
 * expression takes up to 1 MB.
 */
const maxKept = 64

/** Compiles each text once, and not for each row. */
function kept<T extends NonNullable<unknown>>(compile: (text: string) => T): (text: SqlValue) => T {
  const known = new RecentlyUsed<string, T>(maxKept)
  let last: { readonly text: SqlValue; readonly made: T } | undefined
  return text => {
    if (last?.text === text) return last.made
    const name = String(text)
    const made = known.get(name) ?? compile(name)
    if (known.get(name) === undefined) known.add(name, made)
    last = { text, made }
    return made
  }
}

const expression = kept(compileExpression)
const path = kept(text => JSON.parse(text) as FieldRef['path'])
const leaf = kept(text => {
  const condition = JSON.parse(text) as ValueCondition
  return { path: condition.field.path, test: testOf(condition, 'json') }
})

const computedBy = kept(text => {
  const computed = JSON.parse(text) as Computed
  const { of } = computedValue(computed)
  return (value: unknown) => of(computed, value)
})

/** The words to find, and which of the values that follow are JSON (Q27). */
export interface Search {
  readonly words: TextQuery
  readonly json: readonly boolean[]
}
const searched = kept(text => JSON.parse(text) as Search)

/** The texts in which a search looks, one for each that has a value. */
const fieldsOf = ({ json }: Search, values: readonly SqlValue[]): string[] =>
  values.flatMap((value, at) => {
    if (value === null) return []
    return searchable(json[at] === true ? textsIn(parseExact(String(value))) : [String(value)])
  })

/** @returns undefined for NULL and for the JSON `null` */
const read = (json: SqlValue): unknown => {
  if (json === null) return undefined
  // A whole number of a column needs no parser.
  if (typeof json === 'bigint' && BigInt.asIntN(53, json) === json) return Number(json)
  return parseExact(String(json)) ?? undefined
}

/** @returns NULL for null, else the text that `print` makes of the JSON */
const printed = (json: SqlValue, print: (value: unknown) => string | null) => {
  const value = read(json)
  return value === undefined ? null : print(value)
}

/** The values of which one has to be equal: a list and each of its elements, or just the value. */
const alternatives = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? [value, ...(value as unknown[])] : [value]

/**
 * A key that sorts by code point: texts by code point, then numbers by value, then booleans, false first,
 * then arrays, shorter ones first, then objects, those with fewer members first; at the same size, by their
 * JSON.
 */
function sortKey(value: unknown): string {
  if (typeof value === 'string') return `0${value}`
  const number = numberText(value)
  if (number !== undefined) return `1${decimalKey(number)}`
  if (typeof value === 'boolean') return `2${Number(value)}`
  const size = String(Object.keys(value as object).length).padStart(sizeDigits, '0')
  return `${Array.isArray(value) ? 3 : 4}${size}${JSON.stringify(value)}`
}

/** Digits that suffice for the number of elements of any value. */
const sizeDigits = 10

/** The value that was read last: many leaves of a condition test the same one in succession. */
let lastRead: { readonly json: string; readonly value: unknown } | undefined
function member(json: SqlValue, path: FieldRef['path']): unknown {
  if (json === null) return undefined
  const text = String(json)
  if (lastRead?.json !== text) lastRead = { json: text, value: parseExact(text) }
  return memberAt(lastRead.value, path)
}
/** A number of a column, or of JSON; undefined for everything else. */
const numberIn = (value: SqlValue): string | undefined =>
  typeof value === 'bigint' ? String(value) : numberText(read(value))

/** Functions that take any number of values after the search. */
export const searchFunctions = {
  carrel_match: (search: SqlValue, ...values: SqlValue[]): number => {
    const wanted = searched(search)
    return Number(matchesText(fieldsOf(wanted, values), wanted.words))
  },
  carrel_relevance: (search: SqlValue, ...values: SqlValue[]): number => {
    const wanted = searched(search)
    return relevanceOf(fieldsOf(wanted, values), wanted.words)
  },
}

const functions = {
  /** @returns 1 if the text matches the expression, else 0; NULL for NULL */
  carrel_matches: (text, how) => (text === null ? null : Number(expression(how).test(String(text)))),
  /** @returns 1 if the JSON fulfils the leaf of a condition; NULL if there is no value */
  carrel_json: (json, condition) => {
    const { path, test } = leaf(condition)
    const value = member(json, path)
    return value === undefined ? null : Number(test(value))
  },
  /** @returns the JSON of a member of the JSON */
  carrel_member: (json, way) => {
    const value = member(json, path(way))
    return value === undefined ? null : JSON.stringify(value)
  },
  /** @returns a JSON array of the values that the value equals, as canonical texts */
  carrel_alternatives: json => printed(json, value => JSON.stringify(alternatives(value).map(canonicalJson))),
  carrel_canonical: json => printed(json, canonicalJson),
  carrel_sort_key: json => printed(json, sortKey),
  /** @param number as JSON writes it @returns a text that sorts by value */
  carrel_number_key: number => (number === null ? null : decimalKey(String(number))),
  /** @returns an instant in the form of the built-in tables; NULL if they have no such instant */
  carrel_time: text => {
    const bound = instantBound('=', String(text), digits.time)
    return text === null || typeof bound === 'string' ? null : bound.value
  },
  /** @returns what is computed of a text or an instant */
  carrel_of_text: (text, how) => (text === null ? null : (computedBy(how)(String(text)) ?? null)),
  /** @returns what is computed of a number of a column, or of JSON */
  carrel_of_json: (json, how) => printed(json, value => computedBy(how)(value) ?? null),
  /** @param value a number of a column, or JSON @returns NULL for JSON that is no number */
  carrel_key_of_number: value => {
    const number = numberIn(value)
    return number === undefined ? null : decimalKey(number)
  },
  carrel_shuffle: (...values) => hash('md5', values.map(String).join('\0')),
  ...searchFunctions,
} satisfies OpenOptions['functions']

/** Aggregates of numbers; each is given the same argument with every value. */
const aggregates = Object.fromEntries(
  [...known].map(([name, of]) => [
    `carrel_of_numbers_${name}`,
    () => {
      let fold: NumberFold | undefined
      return {
        add: (value: SqlValue, argument: SqlValue) => {
          const number = typeof value === 'bigint' ? value : numberIn(value)
          if (number === undefined) return
          if (of.kind === 'aggregate') fold ??= of.numbers?.fold(String(argument))
          fold?.add(number)
        },
        result: () => fold?.result() ?? null,
      }
    },
  ]),
) satisfies OpenOptions['aggregates']

/** Functions for connections that read tables. */
export const queryFunctions = { functions, aggregates }
