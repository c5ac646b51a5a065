/**
 * JSON that keeps every number as it was written. A double holds no more than 15 to 17 digits; numbers that it can't
 * hold (`12345678901234567890`, `0.1000000000000000055`) stay text by `JSON.rawJSON` and are printed unchanged.
 */
export function parseExact(json: string): unknown {
  // Looking for suspicious digits first is far cheaper than a reviver on everything.
  return suspicious.test(json) ? JSON.parse(json, exactNumber) : JSON.parse(json)
}

/** Long runs of digits, and exponents, wherever they stand; a few innocent strings are looked at twice. */
const suspicious = /[\d.]{16}|\d[eE][-+]?\d/

function exactNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value
  return sameNumber(context.source, value) ? value : rawJson(context.source)
}

/** Whether printing the double gives the number that was written. */
function sameNumber(source: string, value: number): boolean {
  if (String(value) === source) return true
  if (!Number.isFinite(value)) return false
  return digits(source) === digits(String(value))
}

/** Sign, significant digits and exponent, so that 1.50e3 and 1500 compare equal. */
function digits(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(number) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  const significant = all.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + all.length - significant.length}`
}

interface RawJson {
  readonly rawJSON: string
}

// TypeScript's library does not know these two of ECMAScript's «JSON.parse source text access» yet.
const exactJson = JSON as unknown as {
  rawJSON(text: string): RawJson
  isRawJSON(value: unknown): value is RawJson
}
const rawJson = (source: string): RawJson => exactJson.rawJSON(source)

/** The text of a number that a double can't hold; undefined for every other value. */
export const exactText = (value: unknown): string | undefined =>
  exactJson.isRawJSON(value) ? value.rawJSON : undefined
