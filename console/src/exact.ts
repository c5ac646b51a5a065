/** `JSON.rawJSON` prints a number with all its digits, even those that a JavaScript number can't hold. */
const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => unknown }

/**
 * True if the browser shows how a number was written. Browsers before 2025 don't, and round to the nearest
 * number.
 */
export const canBeExact: boolean = rawJSON !== undefined

/**
 * Parses JSON without rounding: an integer that a number can't hold becomes a BigInt, any other such number a
 * string.
 */
export const readExactly = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined || isExact(value, source)) return value
    return /^-?\d+$/.test(source) ? BigInt(source) : source
  })

const isExact = (value: number, source: string) =>
  String(value) === source || (source.length < 16 && !/[eE]/.test(source))

/** Parses JSON for an editor, which prints a number as it was written. */
export const readAsWritten = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value
    return rawJSON ? rawJSON(source) : value
  })

/** Prints JSON with all digits of a BigInt. */
export const printExactly = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (_name, one: unknown) => (typeof one === 'bigint' && rawJSON ? rawJSON(String(one)) : one),
    indent,
  )

/** A number as it was received; a string is one that JavaScript can't hold. */
export type Amount = number | bigint | string

export const isAmount = (value: unknown): value is Amount =>
  typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string'

/** Adds two amounts. Integers keep all their digits; others are added as floating-point numbers. */
export function addExactly(one: Amount, other: Amount): Amount {
  if (!isWhole(one) || !isWhole(other)) return Number(one) + Number(other)
  const sum = BigInt(one) + BigInt(other)
  return Number.isSafeInteger(Number(sum)) ? Number(sum) : sum
}

const isWhole = (value: Amount) => typeof value === 'bigint' || Number.isInteger(value)
