import type { Cell } from '../clients/listings.ts'
import { type Json, type JsonObject, readJson } from './raw-json.ts'

/**
 * The orders of Q6, written a second time in the simplest way: an array, a comparison, a sort. Nothing here
 * comes from src/. Values are texts, so that every digit counts.
 */
export type Kind = 'integer' | 'number' | 'boolean' | 'date-time' | 'text' | 'json'

/** Each field's value as compact JSON, in the order of the fields. */
export type RawRecord = ReadonlyMap<string, string>

export interface RawField {
  readonly name: string
  readonly type: Kind
  readonly nullable: boolean
  /** True if all values are arrays of texts. */
  readonly list?: boolean
  /** True for JSON of a table, which is sorted by its text as a whole. */
  readonly byText?: boolean
}

export interface RawOrder {
  readonly field: string
  /** `asc` or `desc`, in upper or lower case; `asc` by default. */
  readonly order?: string
}

export const recordText = (record: RawRecord): string =>
  `{${[...record].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`

const isNull = (value: string | undefined): value is undefined | 'null' =>
  value === undefined || value === 'null'

function kindOf(value: string): Kind {
  if (value === 'true' || value === 'false') return 'boolean'
  if (value.startsWith('"')) return instantOf(JSON.parse(value)) ? 'date-time' : 'text'
  if (/^[[{]/.test(value)) return 'json'
  return /^-?\d+$/.test(value) || Number.isInteger(Number(value)) ? 'integer' : 'number'
}

/** Returns the fields of an entity, in the order of their first appearance. */
export function fieldsOf(records: readonly RawRecord[]): RawField[] {
  const names = new Set(records.flatMap(record => [...record.keys()]))
  return [...names].map(name => {
    const values = records.map(record => record.get(name))
    const known = values.flatMap(value => (isNull(value) ? [] : [value]))
    const type = typeOf(new Set(known.map(kindOf)))
    const field = { name, type, nullable: values.some(isNull) }
    return type === 'json' && known.every(isTextList) ? { ...field, list: true } : field
  })
}

function isTextList(value: string): boolean {
  const list: unknown = JSON.parse(value)
  return Array.isArray(list) && list.every(one => typeof one === 'string')
}

function typeOf(kinds: ReadonlySet<Kind>): Kind {
  const only = (...legal: Kind[]) => [...kinds].every(kind => legal.includes(kind))
  if (only('text')) return 'text'
  for (const kind of ['integer', 'number', 'boolean', 'date-time', 'json'] as const)
    if (only(kind)) return kind
  if (only('integer', 'number')) return 'number'
  return only('text', 'date-time') ? 'text' : 'json'
}

/** @returns the records in the given order, ties by the key ascending */
export function sorted(
  records: readonly RawRecord[],
  fields: readonly RawField[],
  order: readonly RawOrder[],
  key: string,
): RawRecord[] {
  const comparisons = [...order, { field: key }].map(({ field, order: direction = 'asc' }) => {
    const { type = 'text', byText = false } = fields.find(one => one.name === field) ?? {}
    const sign = direction.toLowerCase() === 'desc' ? -1 : 1
    return (a: RawRecord, b: RawRecord) => sign * compareNullable(type, byText, a.get(field), b.get(field))
  })
  return records.toSorted((a, b) => {
    for (const compare of comparisons) {
      const result = compare(a, b)
      if (result !== 0) return result
    }
    return 0
  })
}

/** Compares ascending; null is greater than every value and comes last. */
function compareNullable(type: Kind, byText: boolean, a: string | undefined, b: string | undefined): number {
  if (isNull(a) || isNull(b)) return Number(isNull(a)) - Number(isNull(b))
  if (byText) return compareCodePoints(a, b)
  return compareValues(type, a, b)
}

export function compareValues(type: Kind, a: string, b: string): number {
  if (a === b) return 0
  if (type === 'text') return compareCodePoints(JSON.parse(a), JSON.parse(b))
  if (type === 'json') return compareJson(readJson(a), readJson(b))
  if (type === 'boolean') return Number(a === 'true') - Number(b === 'true')
  if (type === 'date-time') {
    const [first, second] = [instantOf(JSON.parse(a)), instantOf(JSON.parse(b))]
    if (!first || !second) throw new Error('not date-times')
    return compareBig(first, second)
  }
  return compareNumbers(a, b)
}

const jsonKinds: readonly Json['kind'][] = ['null', 'text', 'number', 'boolean', 'array', 'object']

/** Compares the kinds of two values, then the numbers of their elements or members. */
export const compareJsonSizes = (one: Json, other: Json): number =>
  jsonKinds.indexOf(one.kind) - jsonKinds.indexOf(other.kind) || sizeOf(one) - sizeOf(other)

function sizeOf(json: Json): number {
  if (json.kind === 'array') return json.items.length
  return json.kind === 'object' ? json.members.size : 0
}

/**
 * Compares as PostgreSQL sorts `jsonb` with texts by code point, except that no empty array comes before null.
 */
export function compareJson(one: Json, other: Json): number {
  const order = compareJsonSizes(one, other)
  if (order !== 0) return order
  if (one.kind === 'text' && other.kind === 'text') return compareCodePoints(one.text, other.text)
  if (one.kind === 'number') return compareNumbers(one.raw, other.raw)
  if (one.kind === 'boolean') return Number(one.raw === 'true') - Number(other.raw === 'true')
  if (one.kind === 'array' && other.kind === 'array')
    return firstOf(one.items.map((item, at) => () => compareJson(item, other.items[at] as Json)))
  if (one.kind !== 'object' || other.kind !== 'object') return 0
  const others = membersOf(other)
  return firstOf(
    membersOf(one).flatMap(([name, member], at) => {
      const [otherName, otherMember] = others[at] as readonly [string, Json]
      return [() => compareCodePoints(name, otherName), () => compareJson(member, otherMember)]
    }),
  )
}

/** Returns the members, those with shorter names first. */
function membersOf({ members }: JsonObject): readonly (readonly [string, Json])[] {
  const bytes = (name: string) => Buffer.from(name).length
  return [...members].toSorted(([a], [b]) => bytes(a) - bytes(b) || compareCodePoints(a, b))
}

function firstOf(comparisons: readonly (() => number)[]): number {
  for (const compare of comparisons) {
    const result = compare()
    if (result !== 0) return result
  }
  return 0
}

export function compareCodePoints(a: string, b: string): number {
  for (let at = 0; at < a.length && at < b.length; ) {
    const [first = 0, second = 0] = [a.codePointAt(at), b.codePointAt(at)]
    if (first !== second) return first - second
    at += first > 0xffff ? 2 : 1
  }
  return a.length - b.length
}

const compareBig = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0)

/** Compares numbers exactly, as integers of the smaller unit. */
export function compareNumbers(a: string, b: string): number {
  const [first, second] = [decimalOf(a), decimalOf(b)]
  const exponent = Math.min(first.exponent, second.exponent)
  const scaled = (one: Decimal) => one.digits * 10n ** BigInt(one.exponent - exponent)
  return compareBig(scaled(first), scaled(second))
}

export interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

export function decimalOf(text: string): Decimal {
  const [, whole = '0', fraction = '', exponent = '0'] =
    /^(-?\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? []
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

/**
 * Returns the time in units of 10^-12 s since 1970, or undefined if the text is not an RFC 3339 date-time.
 */
export function instantOf(text: string): bigint | undefined {
  const match = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[-+]\d\d:\d\d)$/.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', zone = ''] = match
  const numbers = [month, day, hour, minute, second].map(Number)
  const [mo = 0, d = 0, h = 0, mi = 0, s = 0] = numbers
  if (mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || s > 59) return undefined
  const at = new Date(0)
  at.setUTCFullYear(Number(year), mo - 1, d)
  at.setUTCHours(h, mi, s)
  const [, sign, zoneHours, zoneMinutes] = /^([-+])(\d\d):(\d\d)$/.exec(zone) ?? []
  const east = (Number(zoneHours ?? 0) * 60 + Number(zoneMinutes ?? 0)) * (sign === '-' ? -1 : 1)
  const seconds = at.getTime() / 1000 - east * 60
  return BigInt(seconds) * 10n ** 12n + BigInt(fraction.padEnd(12, '0').slice(0, 12))
}

/** Returns the text of a CSV cell: null is an empty cell, an empty text is "" (RFC 4180 has no null). */
export function cellOf(value: string | undefined): Pick<Cell, 'text'> & { readonly isNull: boolean } {
  if (isNull(value)) return { text: '', isNull: true }
  // CSV is UTF-8, which can't hold unpaired surrogates.
  const text = value.startsWith('"') ? String(JSON.parse(value)).toWellFormed() : value
  return { text, isNull: false }
}
