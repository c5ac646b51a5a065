import { plainNumber, printNumber, readDecimal } from './decimals.ts'

/** Buckets of numbers (docs/decisions/0074): each is named by its lower bound. */

/** Widths lie between ten to the power of minus this and ten to the power of this. */
export const maxWidthPower = 100
/** Numbers with more digits before the decimal point are in no bucket, and digits as far behind it don't count. */
const maxPower = 1_000

/** @param text a number as JSON writes it @returns the width in plain digits; undefined if it is none */
export function readWidth(text: string): string | undefined {
  const { isNegative, digits, exponent } = readDecimal(text)
  if (isNegative || digits === '' || digits.length > maxWidthPower || Math.abs(exponent) > maxWidthPower)
    return undefined
  return plainNumber(text)
}

export const isWholeWidth = (width: string): boolean => !width.includes('.')

/**
 * Finds the bucket of a number, exactly.
 * @param number as JSON writes it
 * @param width as `readWidth` returns it
 * @returns the lower bound as JSON; undefined for a number that is too large
 */
export function intervalOf(number: string, width: string): string | undefined {
  if (/^-?\d{1,15}$/.test(number) && /^\d{1,15}$/.test(width)) {
    const [value, by] = [Number(number), Number(width)]
    const rest = value % by
    const low = value - (rest < 0 ? rest + by : rest)
    if (Number.isSafeInteger(low)) return String(low + 0)
  }
  const found = unitsOf(number, width)
  if (found === undefined) return undefined
  const { units, by, places } = found
  const rest = units % by
  return inDigits(units - (rest < 0n ? rest + by : rest), places)
}

/** Writes a whole number of the smallest decimal place as JSON. */
function inDigits(units: bigint, places: number): string {
  return printNumber(`${units}e${-places}`)
}

/** A number and a width as whole numbers of one decimal place. A number behind all of them is next to zero. */
function unitsOf(number: string, width: string) {
  const { isNegative, digits, exponent } = readDecimal(number)
  if (exponent > maxPower) return undefined
  const step = readDecimal(width)
  const sign = isNegative ? -1n : 1n
  const finest = Math.max(0, step.digits.length - step.exponent)
  if (exponent < -maxPower) return { units: sign, by: inUnits(step, finest + 1), places: finest + 1 }
  const places = Math.max(finest, digits.length - exponent)
  return { units: sign * inUnits({ digits, exponent }, places), by: inUnits(step, places), places }
}

const inUnits = (
  { digits, exponent }: { readonly digits: string; readonly exponent: number },
  places: number,
) => (digits === '' ? 0n : BigInt(digits) * 10n ** BigInt(places + exponent - digits.length))

/** Returns the bucket of numbers after this one. */
export function nextInterval(low: string, width: string): string {
  const { units, by, places } = unitsOf(low, width) ?? { units: 0n, by: 1n, places: 0 }
  return inDigits(units + by, places)
}
