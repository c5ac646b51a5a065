import { printNumber, readDecimal } from './decimals.ts'

/** Longer numbers, and powers of ten beyond, are no values of anybody, and databases refuse them. */
const maxDigits = 1_000

/**
 * One text for equal numbers of JSON: as JavaScript prints the double that is equal, or else with all digits and no
 * exponent.
 * @returns undefined for a number with more than 1,000 digits, before or behind the point
 */
export function canonicalNumber(text: string): string | undefined {
  if (text.length > maxDigits) return undefined
  return Math.abs(readDecimal(text).exponent) > maxDigits ? undefined : printNumber(text)
}
