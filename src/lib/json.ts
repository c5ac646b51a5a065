import { isDigit, isOfNumber, isUsual, parseNumbers, plainDigits, zero } from './json-numbers.ts'

/**
 * Parses JSON for comparison: equal numbers become equal values. A double holds only 15 to 17 significant
 * digits. Numbers that it can't hold (`12345678901234567890`, `0.1000000000000000055`) become `JSON.rawJSON`
 * values and are printed unchanged.
 */
export const parseExact = (json: string): unknown =>
  exponent.test(json) || hasLongNumber(json) ? parseNumbers(json, exactNumber) : JSON.parse(json)

/**
 * Parses JSON for printing it again: every number keeps its text (docs/decisions/0063). A number that
 * JavaScript would print differently (`1.10`, `1e3`, `-0`) becomes a `JSON.rawJSON` value, too.
 */
export const parseWritten = (json: string): unknown =>
  mayBeOtherwise(json) ? parseNumbers(json, writtenNumber) : JSON.parse(json)

/**
 * Converts a number of `parseWritten` to that of `parseExact`. Other values are returned unchanged,
 * including arrays and objects.
 */
export function comparable(value: unknown): unknown {
  const text = exactText(value)
  if (text === undefined) return value
  const number = Number(text)
  return sameNumber(text, number) ? number : value
}

/** Returns a single JSON number as `parseWritten` reads it. */
export const numberWritten = (text: string): unknown =>
  isUsual(text, 0, text.length) ? Number(text) : writtenNumber(text, Number(text))

const exponent = /\d[eE][-+]?\d/

/** True if JavaScript may print a number differently. */
const mayBeOtherwise = (json: string): boolean =>
  exponent.test(json) || hasLongNumber(json) || hasOddFraction(json) || hasNegativeZero(json)

function hasNegativeZero(json: string): boolean {
  for (let at = json.indexOf('-0'); at >= 0; at = json.indexOf('-0', at + 2))
    if (!isOfNumber(json.charCodeAt(at + 2))) return true
  return false
}

/**
 * True if a fraction ends with a zero, which JavaScript doesn't print, or begins with zeros that
 * give the number an exponent.
 */
function hasOddFraction(json: string): boolean {
  for (let at = json.indexOf('.'); at >= 0; at = json.indexOf('.', at + 1)) {
    let end = at + 1
    while (isDigit(json.charCodeAt(end))) end++
    if (end > at + 1 && (json.charCodeAt(end - 1) === zero || json.startsWith('000000', at + 1))) return true
    at = end - 1
  }
  return false
}

/** Number of consecutive digits and points that may be more than a double holds. */
const longNumber = 16

/**
 * True if the text may contain a long number. Every long number covers one of the positions 15, 31, 47 and so
 * on, so only one character in sixteen is read. That takes a tenth of the time of a regular expression.
 */
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

const isDigitOrPoint = (code: number) => isDigit(code) || code === 0x2e

const exactNumber = (text: string, value: number): unknown =>
  sameNumber(text, value) ? value : rawJson(text)

/**
 * Returns a number whose text JavaScript would print unchanged, or else raw JSON. For example, JavaScript
 * prints -0 without its sign.
 */
const writtenNumber = (text: string, value: number): unknown =>
  String(value) === text ? value : rawJson(text)

/** True if printing the double yields the number that was written. */
function sameNumber(source: string, value: number): boolean {
  if (String(value) === source) return true
  if (source.length <= plainDigits && !/[eE]/.test(source)) return true
  if (!Number.isFinite(value)) return false
  return digits(source) === digits(String(value))
}

/** Returns sign, significant digits and exponent, so that 1.50e3 and 1500 compare equal. */
function digits(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(number) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  const significant = withoutLastZeros(all)
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + all.length - significant.length}`
}

/** Removes zeros at the end. A regular expression would read the zeros inside a long number again and again. */
export function withoutLastZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === zero) end--
  return digits.slice(0, end)
}

interface RawJson {
  readonly rawJSON: string
}

// TypeScript's library lacks these two functions of ECMAScript's proposal "JSON.parse source text access".
const exactJson = JSON as unknown as {
  rawJSON(text: string): RawJson
  isRawJSON(value: unknown): value is RawJson
}

/** Maximum length and number of cached values. Numbers in a file are mostly short and often repeated. */
const keptLength = 24
const keptNumbers = 2_048
const kept = new Map<string, RawJson>()

function rawJson(source: string): RawJson {
  const known = kept.get(source)
  if (known) return known
  const made = exactJson.rawJSON(source)
  if (source.length <= keptLength) {
    if (kept.size === keptNumbers) kept.clear()
    kept.set(source, made)
  }
  return made
}

export type Members = Readonly<Record<string, unknown>>

/**
 * True for a JSON object. It is false for a number that JavaScript would print differently,
 * although that is an object, too.
 */
export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !exactJson.isRawJSON(value)

/** Returns the source text of a number that JavaScript would print differently; undefined for every other value. */
export const exactText = (value: unknown): string | undefined =>
  exactJson.isRawJSON(value) ? value.rawJSON : undefined

/** Returns the JSON text of a number; undefined for other values. */
export const numberText = (value: unknown): string | undefined =>
  typeof value === 'number' ? String(value) : exactText(value)

/** True if two values are numbers with different texts, at least one of which JavaScript would print differently. */
export const haveOtherDigits = (one: unknown, other: unknown): boolean =>
  (exactText(one) !== undefined || exactText(other) !== undefined) && numberText(one) !== numberText(other)
