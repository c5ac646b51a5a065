import { numberWritten } from '../lib/json.ts'

/** Numbers and dates in the form that many countries use. They are read in this form only on request. */

/** A local format that all values of a column may have. It is read only on request. */
export type Looks = 'decimal-comma' | 'day-first'

/** Points between thousands, and a comma before decimals. */
const decimalComma = /^-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?$/

export const isDecimalComma = (text: string): boolean => decimalComma.test(text)

/** @returns undefined if the text is not such a number */
export const fromDecimalComma = (text: string): unknown =>
  decimalComma.test(text) ? numberWritten(text.replaceAll('.', '').replace(',', '.')) : undefined

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
