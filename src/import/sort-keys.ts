import { exactText } from '../lib/json.ts'

/** What SQLite sorts a value by. */
export type SortKey = null | number | string | Uint8Array

/**
 * Values as SQLite puts them in order (https://sqlite.org/datatype3.html#sort_order): numbers by value, then text by
 * code point, then blobs. Blobs are booleans here, false first, and then nested values by their JSON text. So a field with
 * values of several kinds has an order too.
 */
export function sortable(value: unknown): SortKey {
  if (value === null || value === undefined) return null
  if (typeof value === 'number' || typeof value === 'string') return value
  if (typeof value === 'boolean') return Uint8Array.of(value ? 1 : 0)
  return Buffer.from(`\u0002${JSON.stringify(value)}`)
}

/**
 * Whether SQLite can't hold the value: numbers with more digits than a double, and text with an unpaired surrogate,
 * which UTF-8 can't encode. A field with such values is sorted by `sortableBytes`, more slowly.
 */
export const needsBytes = (value: unknown): boolean =>
  typeof value === 'string' ? !value.isWellFormed() : exactText(value) !== undefined

/** The same order as that of `sortable`, as bytes that are compared one by one. */
export function sortableBytes(value: unknown): Uint8Array | null {
  if (value === null || value === undefined) return null
  const number = typeof value === 'number' ? String(value) : exactText(value)
  if (number !== undefined) return Buffer.from(`0${decimalKey(number)}`)
  if (typeof value === 'string') return Buffer.concat([Buffer.from('1'), codePoints(value)])
  return Buffer.from(typeof value === 'boolean' ? `2${value ? 1 : 0}` : `3${JSON.stringify(value)}`)
}

/** A file may hold exponents of any size; larger ones count as this one. */
const maxExponent = 10 ** 12
const exponentDigits = 13

/**
 * A decimal number as text that sorts by value, exactly.
 * @param number as JSON writes it
 */
export function decimalKey(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(number) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return '1'
  // The number is 0.<digits> times ten to the power of:
  const power =
    digits.length - fraction.length + Math.max(-maxExponent, Math.min(maxExponent, Number(exponent)))
  const key = `${String(power + 2 * maxExponent).padStart(exponentDigits, '0')}${digits.replace(/0+$/, '')}`
  // Of two negative numbers, the one with the greater magnitude comes first; ':' sorts after every digit.
  return sign === '' ? `2${key}` : `0${key.replace(/\d/g, digit => String(9 - Number(digit)))}:`
}

/** UTF-8 extended to unpaired surrogates (https://simonsapin.github.io/wtf-8/), which sorts by code point. */
function codePoints(text: string): Uint8Array {
  if (text.isWellFormed()) return Buffer.from(text)
  const bytes: number[] = []
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    if (point >= 0xd800 && point <= 0xdfff)
      bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f))
    else bytes.push(...Buffer.from(character))
  }
  return Uint8Array.from(bytes)
}
