import { withoutLastZeros } from './json.ts'

/** Largest exponent; a larger one counts as this one. */
const maxExponent = 10 ** 12

/**
 * A decimal number of any size, without loss: ±0.digits × 10^exponent. Neither the first nor the last digit
 * is a zero; the number zero has no digits.
 */
export interface Decimal {
  readonly isNegative: boolean
  readonly digits: string
  readonly exponent: number
}

/** @param text a number as JSON writes it */
export function readDecimal(text: string): Decimal {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const all = whole + fraction
  const digits = all.replace(/^0+/, '')
  if (digits === '') return { isNegative: false, digits, exponent: 0 }
  const bounded = Math.max(-maxExponent, Math.min(maxExponent, Number(power)))
  const exponent = whole.length - (all.length - digits.length) + bounded
  return { isNegative: sign === '-', digits: withoutLastZeros(digits), exponent }
}

/**
 * Rounds half away from zero, as PostgreSQL does.
 * @param places number of digits kept after the decimal point; negative: before it
 */
export function roundDecimal({ isNegative, digits, exponent }: Decimal, places: number): Decimal {
  const kept = exponent + places
  if (kept >= digits.length) return { isNegative, digits, exponent }
  const isUp = kept >= 0 && (digits[kept] ?? '0') >= '5'
  const cut = kept > 0 ? digits.slice(0, kept) : ''
  if (!isUp) return { isNegative: isNegative && cut !== '', digits: cut, exponent }
  const raised = String(BigInt(cut === '' ? '0' : cut) + 1n).padStart(kept, '0')
  return { isNegative, digits: raised, exponent: exponent + raised.length - kept }
}

/**
 * Prints a number without its sign and with exactly this many digits after the decimal point, which must
 * suffice for all its digits.
 */
export function printDecimal({ digits, exponent }: Decimal, places: number): string {
  const whole = exponent > 0 ? digits.slice(0, exponent).padEnd(exponent, '0') : '0'
  const fraction =
    (exponent < 0 ? '0'.repeat(Math.min(-exponent, places)) : '') + digits.slice(Math.max(exponent, 0))
  return places === 0 ? whole : `${whole}.${fraction.slice(0, places).padEnd(places, '0')}`
}

/** Maximum number of digits that are written out. */
const maxPrinted = 20_000

/** Returns the same text for equal numbers: as JavaScript prints the double that is equal, or else all digits. */
export function printNumber(number: string): string {
  if (/^(0|-?[1-9]\d{0,14})$/.test(number)) return number
  const double = Number(number)
  if (readDecimal(number).digits === '') return '0'
  if (Number.isFinite(double) && decimalKey(String(double)) === decimalKey(number)) return String(double)
  return plainNumber(number)
}

/** Returns the same text for equal numbers, without an exponent unless there are very many digits. */
export function plainNumber(number: string): string {
  const { isNegative, digits, exponent } = readDecimal(number)
  if (digits === '') return '0'
  if (Math.abs(exponent) + digits.length > maxPrinted)
    return `${isNegative ? '-' : ''}0.${digits}e${exponent}`
  const whole = exponent <= 0 ? '0' : digits.slice(0, exponent).padEnd(exponent, '0')
  const fraction = exponent <= 0 ? '0'.repeat(-exponent) + digits : digits.slice(exponent)
  return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Maximum number of digits and of the power of ten. Real data doesn't exceed it, and databases refuse such numbers. */
const maxDigits = 1_000

/**
 * Returns the same text for equal JSON numbers: as JavaScript prints the double that is equal, or else with
 * all digits and no exponent.
 * @returns undefined for a number with more than 1,000 digits before or after the decimal point
 */
export function canonicalNumber(text: string): string | undefined {
  if (text.length > maxDigits) return undefined
  return Math.abs(readDecimal(text).exponent) > maxDigits ? undefined : printNumber(text)
}

const exponentDigits = 13

/** Returns a text for a decimal number that sorts exactly by its value. @param number a number as JSON writes it */
export function decimalKey(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(number) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return '1'
  // The exponent of ten in the form 0.<digits> × 10^power.
  const power =
    digits.length - fraction.length + Math.max(-maxExponent, Math.min(maxExponent, Number(exponent)))
  const key = `${String(power + 2 * maxExponent).padStart(exponentDigits, '0')}${withoutLastZeros(digits)}`
  // The negative number with the greater magnitude comes first; ':' sorts after every digit.
  return sign === '' ? `2${key}` : `0${key.replace(/\d/g, digit => String(9 - Number(digit)))}:`
}
