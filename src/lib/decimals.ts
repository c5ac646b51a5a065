import { withoutLastZeros } from './json.ts'
import { decimalKey } from './sort-keys.ts'

/** Larger exponents count as this one. */
const maxExponent = 10 ** 12

/**
 * Decimal numbers of any size, without loss: ±0.digits × 10^exponent. Neither the first nor the last digit is a zero; zero
 * has none.
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
 * Half of a unit is rounded away from zero, as PostgreSQL does.
 * @param places how many digits stay behind the decimal point; negative: before it
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

/** With exactly so many digits behind the point, which there must be room for. The sign is left out. */
export function printDecimal({ digits, exponent }: Decimal, places: number): string {
  const whole = exponent > 0 ? digits.slice(0, exponent).padEnd(exponent, '0') : '0'
  const fraction =
    (exponent < 0 ? '0'.repeat(Math.min(-exponent, places)) : '') + digits.slice(Math.max(exponent, 0))
  return places === 0 ? whole : `${whole}.${fraction.slice(0, places).padEnd(places, '0')}`
}

/** More digits than this are not written out. */
const maxPrinted = 20_000

/** One text for equal numbers: as JavaScript prints the double that is equal, else all digits. */
export function printNumber(number: string): string {
  const double = Number(number)
  if (readDecimal(number).digits === '') return '0'
  if (Number.isFinite(double) && decimalKey(String(double)) === decimalKey(number)) return String(double)
  return plainNumber(number)
}

/** One text for equal numbers, without an exponent unless there are very many digits. */
export function plainNumber(number: string): string {
  const { isNegative, digits, exponent } = readDecimal(number)
  if (digits === '') return '0'
  if (Math.abs(exponent) + digits.length > maxPrinted)
    return `${isNegative ? '-' : ''}0.${digits}e${exponent}`
  const whole = exponent <= 0 ? '0' : digits.slice(0, exponent).padEnd(exponent, '0')
  const fraction = exponent <= 0 ? '0'.repeat(-exponent) + digits : digits.slice(exponent)
  return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}
