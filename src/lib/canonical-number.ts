import { printNumber, readDecimal } from './decimals.ts'

/**
 * Maximum number of digits and of the power of ten. Real data doesn't exceed it, and
 * databases refuse such numbers.
 */
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
