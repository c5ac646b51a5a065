import { numberWritten } from '../lib/json.ts'
import { isJsonNumber } from '../lib/json-numbers.ts'
import { instantForms } from '../lib/read-instant.ts'
import type { FieldType } from '../model/entities.ts'

/** Numbers and dates in the form that many countries use. They are read in this form only on request. */

/**
 * A local format that all values of a column may have. It is read only on request. Numbers such as `1,234` are
 * one with a decimal comma and another with a decimal point.
 */
export const localFormats = ['decimal-comma', 'decimal-point', 'decimal-comma-or-point', 'day-first'] as const
export type Looks = (typeof localFormats)[number]

/** Characters between thousands in every country: apostrophes, and spaces that don't break lines. */
const between = " '\u2019\u00a0\u2009\u202f"
const written = (point: string, comma: string) =>
  new RegExp(`^(?:0|[1-9]\\d*|[1-9]\\d{0,2}([${comma}${between}])\\d{3}(?:\\1\\d{3})*)(?:${point}\\d+)?$`)
const styles = {
  'decimal-comma': { mark: ',', form: written(',', '.') },
  'decimal-point': { mark: '.', form: written('\\.', ',') },
} as const

/** A sign or parentheses for a negative number, and the sign of a currency before or behind it. */
const around =
  /^(\()?([-\u2212])?(?:(\p{Sc})[ \u00a0\u202f]?([-\u2212])?)?(\d[^\p{Sc}()]*?)(?:[ \u00a0\u202f]?(\p{Sc}))?(\))?$/u

/** A number in local forms: as JSON writes it with a decimal comma and with a decimal point. */
interface LocalNumber {
  readonly comma: string | undefined
  readonly point: string | undefined
  /** The sign of a currency; the empty string: none. */
  readonly currency: string
  /** True for digits, points, commas and a minus sign alone, which are read wherever a file asks for local numbers. */
  readonly isPlain: boolean
}

/** Reads a number in both forms, keeping all its digits. */
export function localNumber(text: string): LocalNumber {
  const [, open, sign, before, later, digits = '', behind, close] = around.exec(text) ?? []
  const signs = [sign, later, open].filter(one => one !== undefined).length
  const isWrong = signs > 1 || (open === undefined) !== (close === undefined) || (before && behind)
  const read = (style: keyof typeof styles) => {
    const { mark, form } = styles[style]
    if (isWrong || !form.test(digits)) return undefined
    const [whole = '', decimals] = digits.split(mark)
    const plain = `${whole.replace(/\D/g, '')}${decimals === undefined ? '' : `.${decimals}`}`
    return signs > 0 ? `-${plain}` : plain
  }
  return {
    comma: read('decimal-comma'),
    point: read('decimal-point'),
    currency: before ?? behind ?? '',
    isPlain: /^-?[\d.,]+$/.test(text),
  }
}

/** Reads plain numbers only. @returns the unchanged text if it is not such a number */
export const fromPlain = (text: string, style: 'comma' | 'point'): unknown => {
  const { isPlain, [style]: number } = localNumber(text)
  return isPlain && number !== undefined ? numberWritten(number) : text
}

const dayFirst = /^(0?[1-9]|[12]\d|3[01])([./-])(0?[1-9]|1[0-2])\2(\d{4})$/

export const isDayFirst = (text: string): boolean => fromDayFirst(text) !== text

/**
 * True if a date can't have the month first: its first number exceeds twelve, or it has points, which are
 * used only with the day first.
 */
export const isSurelyDayFirst = (text: string): boolean =>
  text.includes('.') || Number.parseInt(text, 10) > 12

/** @returns the date as YYYY-MM-DD; the unchanged text if it is not such a date */
export function fromDayFirst(text: string): string {
  const [, day = '', , month = '', year = ''] = dayFirst.exec(text) ?? []
  if (day === '') return text
  // Day 0 of the next month is the last day of this one.
  const last = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate()
  return Number(day) > last ? text : `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}

/** Says what would make a value one of the type, in the imperative. */
export function adviceFor(value: unknown, type: FieldType): string {
  if (type === 'date-time') return `write ${instantForms}`
  if ((type !== 'number' && type !== 'integer') || typeof value !== 'string' || isJsonNumber(value))
    return 'correct the value'
  const { comma, point, isPlain } = localNumber(value)
  const way = (name: string) => (isPlain ? `--${name}` : `"read": "${name}" for the field in a recipe`)
  const ways = [
    ...(comma === undefined || comma === point ? [] : [`${way('decimal-comma')} to read ${comma}`]),
    ...(point === undefined ? [] : [`${way('decimal-point')} to read ${point}`]),
  ]
  return ways.length === 0 ? 'correct the value' : `use ${ways.join(', or ')}`
}
