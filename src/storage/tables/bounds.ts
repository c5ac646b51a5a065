import { readDecimal } from '../../lib/decimals.ts'

/**
 * Comparisons with constants that a column can't hold: fractions, times with more digits, and texts with
 * characters that the store lacks. Each becomes a comparison with a constant that the column can hold.
 */
export type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>='

/** `all`: true for every value; `none`: for no value. Neither is true for null. */
export type Bound = 'all' | 'none' | { readonly comparison: Comparison; readonly value: string }

const opposite: Readonly<Record<Comparison, Comparison>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
}

export const comparisonOf = (operator: Comparison, negated: boolean): Comparison =>
  negated ? opposite[operator] : operator

/** The bound for a constant above all values. */
const above = (comparison: Comparison): Bound =>
  comparison === '<' || comparison === '<=' || comparison === '<>' ? 'all' : 'none'
const below = (comparison: Comparison): Bound =>
  comparison === '>' || comparison === '>=' || comparison === '<>' ? 'all' : 'none'

/** The constant lies between this value, which is below it, and the next one that there can be. */
function between(comparison: Comparison, value: string): Bound {
  if (comparison === '=') return 'none'
  if (comparison === '<>') return 'all'
  return { comparison: comparison.startsWith('<') ? '<=' : '>', value }
}

const maxInteger = 2n ** 63n - 1n
/** Number of digits of the largest 64-bit integer. */
const maxPower = 19

/** Returns the bound for a column of 64-bit integers. @param number as JSON writes it */
export function integerBound(comparison: Comparison, number: string): Bound {
  const { isNegative, digits, exponent } = readDecimal(number)
  if (exponent > maxPower) return isNegative ? below(comparison) : above(comparison)
  const whole = BigInt(exponent <= 0 ? 0 : digits.slice(0, exponent).padEnd(exponent, '0'))
  const isWhole = digits.length <= exponent || digits === ''
  const floor = isNegative ? -whole - (isWhole ? 0n : 1n) : whole
  if (floor > maxInteger) return above(comparison)
  if (floor < -maxInteger - 1n) return below(comparison)
  return isWhole ? { comparison, value: String(floor) } : between(comparison, String(floor))
}

/** PostgreSQL's `numeric` has 131,072 digits before the point, 16,383 after it; this leaves room for sums. */
const numeric = { exponent: 130_000, fraction: 16_000 }

/** Returns the bound for a column of `numeric`, where infinity sorts last. @param number as JSON writes it */
export function numericBound(comparison: Comparison, number: string): Bound {
  const { isNegative, digits, exponent } = readDecimal(number)
  const sign = isNegative ? '-' : ''
  if (exponent > numeric.exponent) {
    if (comparison === '=' || comparison === '<>') return above(comparison)
    const isLess = comparison.startsWith('<')
    if (isNegative) return { comparison: isLess ? '<=' : '>', value: '-Infinity' }
    return { comparison: isLess ? '<' : '>=', value: 'Infinity' }
  }
  const kept = Math.max(0, Math.min(digits.length, numeric.fraction + exponent))
  const value = kept === 0 ? '0' : `${sign}${digits.slice(0, kept)}e${exponent - kept}`
  if (kept === digits.length) return { comparison, value }
  if (!isNegative || comparison === '=' || comparison === '<>') return between(comparison, value)
  return { comparison: comparison.startsWith('<') ? '<' : '>=', value }
}

const instant = /^([+-]?\d{4,})-(\d\d-\d\dT\d\d:\d\d:)(\d\d)(?:\.(\d+))?Z$/

/** Digits of seconds in the built-in tables' texts, which sort as the instants do, and in `timestamptz`. */
export const digits = { time: 3, instant: 6 } as const

/**
 * Returns the bound for a column of times in the years 0 to 9999.
 * @param text of a constant
 * @param digits of fractions of seconds in the column
 * @returns a text of the form that the built-in tables have, with three digits or more
 */
export function instantBound(comparison: Comparison, text: string, digits: number): Bound {
  const [, year = '', rest = '', seconds = '', fraction = ''] = instant.exec(text) ?? []
  if (Number(year) < 0) return below(comparison)
  if (Number(year) > 9999 || year === '') return above(comparison)
  const head = `${year.slice(-4)}-${rest}`
  // A leap second comes after the last instant of its minute that a column can hold.
  if (seconds === '60') return between(comparison, `${head}59.${'9'.repeat(digits)}Z`)
  const value = `${head}${seconds}.${fraction.slice(0, digits).padEnd(digits, '0')}Z`
  return /[1-9]/.test(fraction.slice(digits)) ? between(comparison, value) : { comparison, value }
}

/**
 * Returns the bound for a column of text sorted by code point. An unpaired surrogate is a code point of its
 * own, which no store holds.
 * @param hasNul true if a column may hold NUL, the first of all characters
 */
export function textBound(comparison: Comparison, text: string, hasNul: boolean): Bound {
  const at = text.search(hasNul ? unpaired : unpairedOrNul)
  if (at < 0) return { comparison, value: text }
  const head = text.slice(0, at)
  // Among the texts that begin with `head`, only `head` itself sorts before one with NUL.
  if (text[at] === '\0') return between(comparison, head)
  if (comparison === '=' || comparison === '<>') return above(comparison)
  return { comparison: comparison.startsWith('<') ? '<' : '>=', value: `${head}\ue000` }
}

const unpaired = /[\ud800-\udfff]/u
const unpairedOrNul = /[\0\ud800-\udfff]/u
