/**
 * Parses JSON and keeps every number as it was written. A double holds only 15 to 17 significant digits. Numbers that it
 * can't hold (`12345678901234567890`, `0.1000000000000000055`) become `JSON.rawJSON` values and are printed unchanged.
 */
export function parseExact(json: string): unknown {
  // Searching for suspicious digits first is far cheaper than calling a reviver for every value. A match inside a string
  // costs only the slower parse.
  return exponent.test(json) || hasLongNumber(json) ? JSON.parse(json, exactNumber) : JSON.parse(json)
}

const exponent = /\d[eE][-+]?\d/

/** So many digits and points in a row may be more than a double holds. */
const longNumber = 16

/** Of a long number, one place of every sixteen is a part; looking only at these takes a tenth of a regular expression. */
function hasLongNumber(json: string): boolean {
  for (let at = longNumber - 1; at < json.length; at += longNumber) {
    if (!isDigitOrPoint(json.charCodeAt(at))) continue
    let from = at
    while (from > 0 && isDigitOrPoint(json.charCodeAt(from - 1))) from--
    let end = at + 1
    while (end < json.length && isDigitOrPoint(json.charCodeAt(end))) end++
    if (end - from >= longNumber) return true
  }
  return false
}

const isDigitOrPoint = (code: number) => (code >= 0x30 && code <= 0x39) || code === 0x2e

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
