/** JSON without loss: what a number of JavaScript can't hold keeps all its digits. */
const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => unknown }

/** Browsers before 2025 can't say how a number was written: there, it is the nearest one. */
export const canBeExact: boolean = rawJSON !== undefined

/** Integers that a number can't hold are BigInt; other numbers that it can't hold stay as they were written, as text. */
export const readExactly = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined || isExact(value, source)) return value
    return /^-?\d+$/.test(source) ? BigInt(source) : source
  })

const isExact = (value: number, source: string) =>
  String(value) === source || (source.length < 16 && !/[eE]/.test(source))

/** The same backwards. */
export const printExactly = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (_name, one: unknown) => (typeof one === 'bigint' && rawJSON ? rawJSON(String(one)) : one),
    indent,
  )

/** A number as it came: a text is one that JavaScript can't hold. */
export type Amount = number | bigint | string

export const isAmount = (value: unknown): value is Amount =>
  typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string'

/** Integers keep all their digits; others are added as numbers. */
export function addExactly(one: Amount, other: Amount): Amount {
  if (!isWhole(one) || !isWhole(other)) return Number(one) + Number(other)
  const sum = BigInt(one) + BigInt(other)
  return Number.isSafeInteger(Number(sum)) ? Number(sum) : sum
}

const isWhole = (value: Amount) => typeof value === 'bigint' || Number.isInteger(value)
