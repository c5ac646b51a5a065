/**
 * Parses JSON and keeps every number as it was written. A double holds only 15 to 17 significant digits. Numbers that it
 * can't hold (`12345678901234567890`, `0.1000000000000000055`) become `JSON.rawJSON` values and are printed unchanged.
 */
export function parseExact(json: string): unknown {
  // Searching for suspicious digits first is far cheaper than calling a reviver for every value.
  return suspicious.test(json) ? JSON.parse(json, exactNumber) : JSON.parse(json)
}

/** Long runs of digits, and exponents. A match inside a string costs only the slower parse. */
const suspicious = /[\d.]{16}|\d[eE][-+]?\d/

function exactNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value
  return sameNumber(context.source, value) ? value : rawJson(context.source)
}

/** Whether printing the double yields the number that was written. */
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

// TypeScript's library lacks these two functions of ECMAScript's proposal "JSON.parse source text access".
const exactJson = JSON as unknown as {
  rawJSON(text: string): RawJson
  isRawJSON(value: unknown): value is RawJson
}
const rawJson = (source: string): RawJson => exactJson.rawJSON(source)

/** The source text of a number that a double can't hold; undefined for every other value. */
export const exactText = (value: unknown): string | undefined =>
  exactJson.isRawJSON(value) ? value.rawJSON : undefined
