import { comparable, exactText } from '../lib/json.ts'
import type { Field, FieldType } from '../model/entities.ts'

/** Statistics of a field's values (D2). They determine its type unless the operator declared one. */
export interface FieldStatistics {
  readonly name: string
  /** The declared type; undefined: the values determine the type. */
  readonly declared: FieldType | undefined
  readonly collation: string | undefined
  /** The kinds of values, each with the first line that has one, in the order of these lines. */
  readonly kinds: Map<FieldType, number>
  /** True or false if the field is declared as a list or as no list; undefined: the values decide. */
  readonly isList: boolean | undefined
  /** True if all JSON values so far are arrays of texts. */
  hasLists: boolean
  /** Number of records in which the field is null or missing. */
  nulls: number
}

/** The types that can be declared. */
export const fieldTypes: readonly FieldType[] = ['text', 'integer', 'number', 'boolean', 'date-time', 'json']

/**
 * A date-time of RFC 3339 §5.6 with a time zone; T and Z in either case, and a space
 * instead of T as the RFC allows.
 */
const dateTime =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** True if the text is a date-time with a day that exists in its month. */
function isDateTime(text: string): boolean {
  if (text.length < 20 || !dateTime.test(text)) return false
  const day = Number(text.slice(8, 10))
  // Day 0 of the next month is the last day of this one.
  return (
    day <= 28 ||
    day <=
      new Date(Date.UTC(2000 + (Number(text.slice(0, 4)) % 400), Number(text.slice(5, 7)), 0)).getUTCDate()
  )
}

/** True if these date-times have the same form, in which the texts sort like the instants. */
export function isUniformDateTime([first = '', ...others]: readonly string[]): boolean {
  const form = (text: string) => text[10] === 'T' && text.endsWith('Z') && text.slice(17, 19) !== '60'
  return first.length >= 20 && form(first) && others.every(text => text.length === first.length && form(text))
}

/** @returns the kind of a value; undefined for null */
export function kindOf(value: unknown): FieldType | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'number') return kindOfNumber(value)
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'string') return isDateTime(value) ? 'date-time' : 'text'
  const exact = exactText(value)
  if (exact === undefined) return 'json'
  const number = comparable(value)
  if (typeof number === 'number') return kindOfNumber(number)
  return /^-?\d+$/.test(exact) ? 'integer' : 'number'
}

const kindOfNumber = (number: number): FieldType => (Number.isInteger(number) ? 'integer' : 'number')

/** True if a field of a declared type may hold a value of this kind. Text and JSON hold any. */
export const fits = (kind: FieldType, type: FieldType): boolean =>
  kind === type || type === 'text' || type === 'json' || (type === 'number' && kind === 'integer')

export const isTextList = (value: unknown): boolean =>
  Array.isArray(value) && value.every(element => typeof element === 'string')

export function fieldOf(statistics: FieldStatistics): Field {
  const { name, declared, collation, kinds, nulls } = statistics
  const { isList = statistics.hasLists && isOnlyJson(kinds) } = statistics
  const type = declared ?? typeOf([...kinds.keys()])
  const field = { name, type, nullable: nulls > 0 }
  if (collation !== undefined) return { ...field, collation }
  return type === 'json' && isList ? { ...field, list: true } : field
}

const isOnlyJson = (kinds: ReadonlyMap<FieldType, unknown>) => kinds.size === 1 && kinds.has('json')

export function typeOf(kinds: readonly FieldType[]): FieldType {
  const [only] = kinds
  if (only === undefined) return 'text'
  if (kinds.length === 1) return only
  if (kinds.every(kind => kind === 'integer' || kind === 'number')) return 'number'
  if (kinds.every(kind => kind === 'text' || kind === 'date-time')) return 'text'
  return 'json'
}

/** Two lines whose values have no type in common but JSON. */
export interface Mix {
  readonly line: number
  readonly kind: FieldType
  /** The first line with a value of another kind. */
  readonly earlier: { readonly line: number; readonly kind: FieldType }
}

/** @returns undefined if all values have another type in common, or the type was declared */
export function mixOf({ declared, kinds }: FieldStatistics): Mix | undefined {
  if (declared !== undefined) return undefined
  const met = [...kinds].map(([kind, line]) => ({ kind, line }))
  const at = met.findIndex(
    (_, end) => end > 0 && typeOf(met.slice(0, end + 1).map(({ kind }) => kind)) === 'json',
  )
  const [earlier] = met
  const mixing = met[at]
  return earlier && mixing && { ...mixing, earlier }
}

/** @returns the value of a field; null if it is missing, whatever its name is */
export const fieldValue = (record: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(record, name) ? record[name] : null
