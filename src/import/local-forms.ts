import { numberWritten } from '../lib/json.ts'

/** Numbers and dates as many countries write them. Nothing is read so unless that is asked for. */

/** A format that all values of a column may have, and that is read only on request. */
export type Looks = 'decimal-comma' | 'day-first'

/** Points between thousands, and a comma before decimals. */
const decimalComma = /^-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?$/

export const isDecimalComma = (text: string): boolean => decimalComma.test(text)

/** @returns undefined if it is no such number */
export const fromDecimalComma = (text: string): unknown =>
  decimalComma.test(text) ? numberWritten(text.replaceAll('.', '').replace(',', '.')) : undefined

const dayFirst = /^(0?[1-9]|[12]\d|3[01])([./-])(0?[1-9]|1[0-2])\2(\d{4})$/

export const isDayFirst = (text: string): boolean => fromDayFirst(text) !== text

/** A day after the twelfth is no month, and nobody puts points behind months. */
export const isSurelyDayFirst = (text: string): boolean =>
  text.includes('.') || Number.parseInt(text, 10) > 12

/** @returns the day as YYYY-MM-DD; the same text if it is none */
export function fromDayFirst(text: string): string {
  const [, day = '', , month = '', year = ''] = dayFirst.exec(text) ?? []
  if (day === '') return text
  // Day 0 of the next month is the last of this one.
  const last = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate()
  return Number(day) > last ? text : `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}
