import { exactText } from '../lib/json.ts'
import type { Field, FieldType } from '../model/entities.ts'

/** Types of fields are found by looking at every value (D2). */
export interface FieldStatistics {
  readonly name: string
  readonly kinds: Set<FieldType>
  /** Records in which the field is null or missing. */
  nulls: number
  /** Some value can't be sorted as SQLite holds it. */
  needsBytes: boolean
}

/** RFC 3339 §5.6, with a time zone; T and Z in either case, and a space for T as the RFC allows. */
const dateTime =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** Of the right form, and of a day that its month has. */
function isDateTime(text: string): boolean {
  if (text.length < 20 || !dateTime.test(text)) return false
  const day = Number(text.slice(8, 10))
  // Day 0 of the next month is the last of this one.
  return (
    day <= 28 ||
    day <=
      new Date(Date.UTC(2000 + (Number(text.slice(0, 4)) % 400), Number(text.slice(5, 7)), 0)).getUTCDate()
  )
}

/** @returns undefined for null */
export function kindOf(value: unknown): FieldType | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'string') return isDateTime(value) ? 'date-time' : 'text'
  const exact = exactText(value)
  if (exact !== undefined) return /^-?\d+$/.test(exact) ? 'integer' : 'number'
  return 'json'
}

export function fieldOf({ name, kinds, nulls }: FieldStatistics): Field {
  return { name, type: typeOf(kinds), nullable: nulls > 0 }
}

function typeOf(kinds: ReadonlySet<FieldType>): FieldType {
  const [only] = kinds
  if (only === undefined) return 'text'
  if (kinds.size === 1) return only
  const all = [...kinds]
  if (all.every(kind => kind === 'integer' || kind === 'number')) return 'number'
  if (all.every(kind => kind === 'text' || kind === 'date-time')) return 'text'
  return 'json'
}

/**
 * An instant as text that sorts by time: seconds, a mark for a leap second (`:60` is behind every `:59` and before the
 * next `:00`; Date knows none), and the fraction as it was written.
 * @param text of the form above
 */
export function instant(text: string): string {
  const [, head = '', fraction = '', zone = ''] = /^(.{19})(?:\.(\d+))?(.+)$/.exec(text) ?? []
  const leap = head.endsWith('60')
  const at = Date.parse(`${head.replace(/[t ]/, 'T').replace(/60$/, '59')}${zone.toUpperCase()}`)
  // Of the years 0 to 9999, and a day around them for the zones, no second is below -10^12.
  const seconds = String(at / 1000 + 1e12).padStart(13, '0')
  return `${seconds}${leap ? 1 : 0}.${fraction.replace(/0+$/, '')}`
}
