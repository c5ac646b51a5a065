import { TooMuch } from '../../lib/errors.ts'
import type { Matcher } from '../../lib/expressions.ts'
import { parseExact } from '../../lib/json.ts'
import { sharedBytes } from '../../lib/memory.ts'
import type { FieldType } from '../../model/entities.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { lastUpTo } from './edits.ts'
import { isRevised, type RevisedField } from './field-changes.ts'
import { unpackRecords } from './loaded-records.ts'
import { RevisedValues } from './overlay-column.ts'
import { summedUp } from './ranks-in-order.ts'
import type { StoredField } from './stored-field.ts'
import { FileValues, type Values, type ValuesPart } from './stored-values.ts'

export type PackedValues = Uint8Array<SharedArrayBuffer>

/** Values in memory. They are packed as loaded records are. */
export class MemoryValues implements Values {
  readonly length: number
  readonly starts: Uint32Array
  readonly json: Buffer

  constructor(packed: PackedValues, length: number) {
    const { starts, json } = unpackRecords(packed, length)
    this.length = length
    this.starts = starts
    this.json = json
  }

  bytesAt(rank: number): Buffer {
    return this.json.subarray(this.starts[rank], this.starts[rank + 1])
  }

  *parts(from: number, end: number): Iterable<ValuesPart> {
    const starts = this.starts.subarray(from, end + 1)
    yield { from, end, starts, json: this.json.subarray(starts[0], starts[end - from]) }
  }

  doubles(): undefined {
    return undefined
  }
}

/** Values as threads are given them. */
export type GivenValues = PackedValues | StoredField | RevisedField

export function openValues(given: GivenValues, length: number): Values {
  if (ArrayBuffer.isView(given)) return new MemoryValues(given, length)
  return isRevised(given) ? new RevisedValues(given) : new FileValues(given)
}

export const jsonAt = (values: Values, rank: number): string => values.bytesAt(rank).toString()

export const valueAt = (values: Values, rank: number): unknown => parseExact(jsonAt(values, rank))

/** A value as a field of this type compares it. */
export const typedAt = (values: Values, rank: number, type: FieldType): unknown =>
  typedValue(jsonAt(values, rank), type)

/** In a text field, a value that is not a text counts as its JSON: a number as it was written. */
export const typedValue = (json: string, type: FieldType): unknown =>
  type === 'text' && !json.startsWith('"') && json !== 'null' ? json : parseExact(json)

/** Maximum size in memory of the values of one field, in bytes. */
const maxBytes = 1024 ** 3

/** Packs texts one after the other. */
export class Packer {
  readonly #starts: Uint32Array
  #json = Buffer.allocUnsafe(64 * 1024)
  #length = 0
  #size = 0

  /** @param length number of texts to be added */
  constructor(length: number) {
    this.#starts = new Uint32Array(length + 1)
  }

  add(text: string): void {
    // A UTF-16 unit takes at most three bytes.
    const end = this.#size + text.length * 3
    if (end > this.#json.length) this.#grow(end)
    this.#size += this.#json.write(text, this.#size)
    this.#starts[++this.#length] = this.#size
  }

  #grow(end: number): void {
    if (this.#size > maxBytes)
      throw new TooMuch(
        'The values of a field are too many to be searched: together they are larger than 1 GB.',
      )
    const larger = Buffer.allocUnsafe(Math.max(end, 2 * this.#json.length))
    this.#json.copy(larger, 0, 0, this.#size)
    this.#json = larger
  }

  finish(): PackedValues {
    const packed = sharedBytes(this.#starts.byteLength + this.#size)
    packed.set(new Uint8Array(this.#starts.buffer))
    packed.set(this.#json.subarray(0, this.#size), this.#starts.byteLength)
    return packed
  }
}

/** @param places the place of each value, in the order of the parts */
export function arrangeValues(parts: readonly MemoryValues[], places: Uint32Array): PackedValues {
  const lengths = new Uint32Array(places.length + 1)
  let at = 0
  for (const { length, starts } of parts)
    for (let n = 0; n < length; n++)
      lengths[(places[at++] as number) + 1] = (starts[n + 1] as number) - (starts[n] as number)
  summedUp(lengths)
  const size = lengths.at(-1) as number
  const packed = sharedBytes(lengths.byteLength + size)
  packed.set(new Uint8Array(lengths.buffer))
  const json = packed.subarray(lengths.byteLength)
  at = 0
  for (const part of parts)
    for (let n = 0; n < part.length; n++) {
      const from = part.starts[n] as number
      const end = part.starts[n + 1] as number
      let to = lengths[places[at++] as number] as number
      // Most values are so short that a call would take longer.
      for (let byte = from; byte < end; byte++) json[to++] = part.json[byte] as number
    }
  return packed
}

/** Bytes of values that are decoded into one string at a time. */
const sliceBytes = 64 * 1024

type Take = (text: string, rank: number) => void

/** Calls `take` for each value, with its text or, if it is not a text, its JSON. */
export function eachText(values: Values, from: number, end: number, take: Take): void {
  if (from >= end) return
  for (const part of values.parts(from, end)) takeAll(part, take)
}

/** Decoding many values into one string and cutting it takes a fifth of the time of decoding each. */
function takeAll({ from, end, starts, json }: ValuesPart, take: Take): void {
  const base = starts[0] as number
  const length = end - from
  for (let at = 0; at < length; ) {
    mayGoOn()
    const start = starts[at] as number
    let to = at + 1
    while (to < length && (starts[to + 1] as number) - start <= sliceBytes) to++
    const slice = json.toString('utf8', start - base, (starts[to] as number) - base)
    const isPlain = slice.length === (starts[to] as number) - start && !slice.includes('\\')
    for (let n = at; n < to; n++) {
      const [first, last] = [starts[n] as number, starts[n + 1] as number]
      const text = isPlain
        ? slice.substring(first - start, last - start)
        : json.toString('utf8', first - base, last - base)
      if (text.charCodeAt(0) !== quoteMark) take(text, from + n)
      else take(isPlain ? text.substring(1, text.length - 1) : (JSON.parse(text) as string), from + n)
    }
    at = to
  }
}

/**
 * Calls `found` for each value below rank `end` whose text or, if it is not a text, whose JSON matches. Most texts
 * are read as they lie in memory, without a string for each.
 */
export function matchTexts(
  values: Values,
  end: number,
  matcher: Matcher,
  found: (rank: number) => void,
): void {
  if (end === 0) return
  const { required } = matcher
  // JSON writes such a part as it stands.
  const isPlain = required !== '' && JSON.stringify(required) === `"${required}"`
  let part = isPlain ? Buffer.from(required) : undefined
  for (const some of values.parts(0, end)) {
    const tested = matchPart(some, part, matcher, found)
    // Looking for the part of a text pays where few have it.
    if (tested * worthLooking > some.end - some.from) part = undefined
  }
}

/** A part of a text is looked for unless it is in more than one of this many values. */
const worthLooking = 8

/** @returns the number of values that were tested */
function matchPart(
  { from, end, starts, json }: ValuesPart,
  required: Uint8Array | undefined,
  matcher: Matcher,
  found: (rank: number) => void,
): number {
  const base = starts[0] as number
  const length = end - from
  let nextEscape = json.indexOf(backslash)
  let at = 0
  let tested = 0
  for (let n = 0; n < length; n++) {
    if (required) {
      at = json.indexOf(required, at)
      if (at < 0) break
      n = lastUpTo(starts, at + base)
    }
    if ((tested++ & 0xfff) === 0) mayGoOn()
    const [first, last] = [(starts[n] as number) - base, (starts[n + 1] as number) - base]
    if (nextEscape >= 0 && nextEscape < first) nextEscape = json.indexOf(backslash, first)
    const isText = json[first] === quoteMark
    const matches =
      isText && nextEscape >= 0 && nextEscape < last
        ? matcher.test(JSON.parse(json.toString('utf8', first, last)) as string)
        : matcher.testBytes(json, isText ? first + 1 : first, isText ? last - 1 : last)
    if (matches) found(from + n)
    at = last
  }
  return tested
}

const backslash = 0x5c

/** Calls `take` for each value, as JSON. */
export function eachJson(values: Values, take: (json: string, rank: number) => void): void {
  if (values.length === 0) return
  for (const { from, end, starts, json } of values.parts(0, values.length)) {
    const base = starts[0] as number
    for (let rank = from; rank < end; rank++) {
      const at = rank - from
      take(json.toString('utf8', (starts[at] as number) - base, (starts[at + 1] as number) - base), rank)
    }
  }
}

const quoteMark = 0x22
