import { decimalKey } from './decimals.ts'
import { comparable, exactText, isObject, withoutLastZeros } from './json.ts'

/**
 * Keys by which values are sorted. Plain numbers and texts are their own keys. Every other key is a *binary
 * text*, whose characters are the bytes 0 to 255, so that comparing two of them compares their bytes.
 *
 * A field with values of several kinds has an order, too: numbers by value, then text by code point, then
 * booleans, false first, and then nested values by their JSON.
 */
export const kindMarks = { null: '.', text: '/', number: '0', boolean: '2', array: '3', object: '4' } as const

const marks = {
  null: kindMarks.null.charCodeAt(0),
  text: kindMarks.text.charCodeAt(0),
  array: kindMarks.array.charCodeAt(0),
  object: kindMarks.object.charCodeAt(0),
} as const

/** The least keys of kinds: none of that kind comes before it. */
export const firstKeys = {
  number: kindMarks.number,
  boolean: kindMarks.boolean,
  nested: kindMarks.array,
} as const

/** The key of any value but null in a field with values of several kinds. */
export function mixedKey(value: unknown): string {
  if (typeof value === 'number') return markedNumber(value)
  return typeof value === 'string' ? markedText(binaryText(value)) : oddKey(value)
}

/**
 * Returns the key of a value that is not its own key.
 * @param value neither null nor a plain number or text; it may be a number whose text differs from JavaScript's
 */
export function oddKey(value: unknown): string {
  if (typeof value === 'boolean') return `${kindMarks.boolean}${value ? 1 : 0}`
  const number = comparable(value)
  if (typeof number === 'number') return markedNumber(number)
  const text = exactText(number)
  if (text !== undefined) return exactNumberKey(text)
  const key = new KeyBytes()
  addNested(value, key)
  return key.text()
}

/** Records are only so deep as imports and requests allow. */
function addNested(value: unknown, key: KeyBytes): void {
  if (Array.isArray(value)) {
    key.byte(marks.array)
    key.size(value.length)
    for (const element of value) addPart(element, key)
  } else if (isObject(value)) {
    const names = Object.keys(value)
    key.byte(marks.object)
    key.size(names.length)
    for (const name of sortedNames(names)) {
      key.ended(name)
      addPart(value[name], key)
    }
  }
}

/** No part is the beginning of another one. */
function addPart(value: unknown, key: KeyBytes): void {
  if (value === null) key.byte(marks.null)
  else if (typeof value === 'string') {
    key.byte(marks.text)
    key.ended(value)
  } else if (Array.isArray(value) || isObject(value)) addNested(value, key)
  else {
    const number = comparable(value)
    // The zeros at the end of a double say no more than the end of the part does.
    key.endedBinary(typeof number === 'number' ? markedNumber(number).replace(/\0+$/, '') : oddKey(number))
  }
}

const isAscii = (text: string): boolean => !/[^\0-\u007f]/.test(text)

/** `jsonb` keeps shorter names first, by their bytes. */
function sortedNames(names: string[]): readonly string[] {
  if (names.every(isAscii))
    return names.sort((one, other) => one.length - other.length || (one < other ? -1 : 1))
  return names
    .map(name => ({ name, bytes: binaryText(name) }))
    .sort((one, other) => one.bytes.length - other.bytes.length || (one.bytes < other.bytes ? -1 : 1))
    .map(({ name }) => name)
}

/** Writes the key of a nested value. */
class KeyBytes {
  #bytes = Buffer.allocUnsafe(512)
  #length = 0

  text(): string {
    return this.#bytes.toString('latin1', 0, this.#length)
  }

  byte(byte: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = byte
  }

  /** The number of elements or members: one byte, or five. */
  size(size: number): void {
    if (size < last) {
      this.byte(size)
      return
    }
    this.byte(last)
    this.#reserve(4)
    this.#length = this.#bytes.writeUInt32BE(size, this.#length)
  }

  ended(text: string): void {
    if (!text.isWellFormed() || text.includes('\0')) {
      this.endedBinary(binaryText(text))
      return
    }
    this.#reserve(3 * text.length)
    this.#length += this.#bytes.write(text, this.#length)
    this.byte(0)
  }

  /** The end is less than what a longer text has there: what follows the end is never as great as the last byte. */
  endedBinary(binary: string): void {
    this.#reserve(2 * binary.length)
    for (let at = 0; at < binary.length; at++) {
      const byte = binary.charCodeAt(at)
      this.#bytes[this.#length++] = byte
      if (byte === 0) this.#bytes[this.#length++] = last
    }
    this.byte(0)
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * (this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

const last = 0xff

export const markedText = (binary: string): string => kindMarks.text + binary

const scratch = new DataView(new ArrayBuffer(8))
const scratchBytes = Buffer.from(scratch.buffer)

/** Returns the key of a plain number among keys of other kinds. */
export function markedNumber(value: number): string {
  // IEEE 754 numbers sort by their bits once the sign bit is inverted, or all bits of a negative number.
  scratch.setFloat64(0, value + 0)
  const high = scratch.getInt32(0)
  const low = scratch.getInt32(4)
  scratch.setInt32(0, high < 0 ? ~high : high ^ 0x8000_0000)
  scratch.setInt32(4, high < 0 ? ~low : low)
  return kindMarks.number + scratchBytes.toString('latin1', 0, 8)
}

/** Returns the number of which `markedNumber` made this key. */
export function numberOf(key: string): number {
  scratchBytes.write(key.slice(1, 9), 'latin1')
  const high = scratch.getInt32(0)
  const low = scratch.getInt32(4)
  scratch.setInt32(0, high < 0 ? high ^ 0x8000_0000 : ~high)
  scratch.setInt32(4, high < 0 ? low : ~low)
  return scratch.getFloat64(0)
}

/** Returns the key of a number with more digits than a double. It sorts after the greatest double below it. */
function exactNumberKey(number: string): string {
  const key = decimalKey(number)
  let below = Number(number)
  if (below === Number.POSITIVE_INFINITY) below = Number.MAX_VALUE
  else if (below !== Number.NEGATIVE_INFINITY && decimalKey(String(below)) > key) below = nextBelow(below)
  return markedNumber(below) + key
}

function nextBelow(value: number): number {
  if (value === 0) return -Number.MIN_VALUE
  const bits = new BigInt64Array(1)
  const double = new Float64Array(bits.buffer)
  double[0] = value
  bits[0] = (bits[0] as bigint) + (value > 0 ? -1n : 1n)
  return double[0]
}

/**
 * Encodes text so that it sorts by code point: in UTF-8, extended to unpaired surrogates
 * (https://simonsapin.github.io/wtf-8/).
 */
export function binaryText(text: string): string {
  if (text.isWellFormed()) return Buffer.from(text).toString('latin1')
  const pieces: Buffer[] = []
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    pieces.push(
      point >= 0xd800 && point <= 0xdfff
        ? Buffer.of(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f))
        : Buffer.from(character),
    )
  }
  return Buffer.concat(pieces).toString('latin1')
}

/** Returns the text that was encoded as this binary text. */
export function textOfBinary(binary: string): string {
  // The bytes of an unpaired surrogate, which UTF-8 never contains (RFC 3629 §3).
  const [surrogate] = /\xed[\xa0-\xbf][\x80-\xbf]/.exec(binary) ?? []
  if (surrogate === undefined) return Buffer.from(binary, 'latin1').toString()
  const at = binary.indexOf(surrogate)
  const point = 0xd000 | ((surrogate.charCodeAt(1) & 0x3f) << 6) | (surrogate.charCodeAt(2) & 0x3f)
  return textOfBinary(binary.slice(0, at)) + String.fromCharCode(point) + textOfBinary(binary.slice(at + 3))
}

/** Returns the text by which a value sorts in a field declared as text: a text itself, any other value as JSON. */
export const textForm = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

/**
 * Returns an instant as text that sorts by time: seconds, a mark for a leap second (`:60` comes after every `:59` and
 * before the next `:00`; `Date` doesn't know leap seconds), and the fraction without zeros at its end.
 * @param text an RFC 3339 date-time
 */
export function instant(text: string): string {
  const [, head = '', fraction = '', zone = ''] = /^(.{19})(?:\.(\d+))?(.+)$/.exec(text) ?? []
  const leap = head.endsWith('60')
  const at = Date.parse(`${head.replace(/[t ]/, 'T').replace(/60$/, '59')}${zone.toUpperCase()}`)
  // Within the years 0 to 9999, and a day around them for time zones, every time is above -10^12 seconds.
  const seconds = String(at / 1000 + 1e12).padStart(13, '0')
  return `${seconds}${leap ? 1 : 0}.${withoutLastZeros(fraction)}`
}
