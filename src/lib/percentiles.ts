import { printNumber, readDecimal } from './decimals.ts'

/** Percentiles as PostgreSQL's `percentile_cont` defines them, but of exact decimals. */

/** Maximum number of digits of a percentage. */
const maxDigits = 20

/** @param text a number as JSON writes it @returns the part of 1 in plain digits; undefined unless it is from 0 to 100 */
export function readPercent(text: string): string | undefined {
  const { isNegative, digits, exponent } = readDecimal(text)
  const isAbove = exponent > 3 || (exponent === 3 && digits !== '1')
  if (isNegative || isAbove || digits.length > maxDigits || exponent < -maxDigits) return undefined
  if (digits === '') return '0'
  const places = digits.length - exponent + 2
  return places <= 0 ? '1' : inPlaces(BigInt(digits), places)
}

const inPlaces = (units: bigint, places: number): string => {
  const text = String(units).padStart(places + 1, '0')
  return `${text.slice(0, -places)}.${text.slice(-places)}`
}

/**
 * Finds a percentile among values in their order, between the one before it and the one after it.
 * @param part of 1, as `readPercent` returns it
 * @param at returns the number at a place, as JSON
 * @returns the double next to it as JSON
 */
export function percentileOf(count: number, part: string, at: (place: number) => string): string {
  const [whole = '0', fraction = ''] = part.split('.')
  const unit = 10n ** BigInt(fraction.length)
  const place = BigInt(count - 1) * BigInt(whole + fraction)
  const [low, rest] = [at(Number(place / unit)), place % unit]
  if (rest === 0n) return asDouble(low)
  return asDouble(between(low, at(Number(place / unit) + 1), rest, fraction.length))
}

/** Exponents beyond this, which only JSON can have, are not added exactly. */
const maxPower = 20_000

function between(low: string, high: string, rest: bigint, digits: number): string {
  const [one, other] = [readDecimal(low), readDecimal(high)]
  if (Math.abs(one.exponent) > maxPower || Math.abs(other.exponent) > maxPower) return low
  const places = Math.max(0, one.digits.length - one.exponent, other.digits.length - other.exponent)
  const unitsOf = ({ isNegative, digits, exponent }: typeof one) => {
    const units = digits === '' ? 0n : BigInt(digits) * 10n ** BigInt(places + exponent - digits.length)
    return isNegative ? -units : units
  }
  const [from, to] = [unitsOf(one), unitsOf(other)]
  return `${from * 10n ** BigInt(digits) + (to - from) * rest}e${-places - digits}`
}

/** A number that no double is close to stays as it is. */
function asDouble(number: string): string {
  const double = Number(number)
  const isClose = Number.isFinite(double) && (double !== 0 || readDecimal(number).digits === '')
  return printNumber(isClose ? String(double) : number)
}
