import { TooMuch } from '../../lib/errors.ts'
import { parseExact } from '../../lib/json.ts'
import { sharedMemory } from '../../lib/memory.ts'
import type { FieldType } from '../../model/entities.ts'

/** The distinct values of a column as JSON, by rank. They are packed as loaded records are. */
export interface Values {
  readonly length: number
  /** The position where each value starts, and the end of the last. */
  readonly starts: Uint32Array
  readonly json: Buffer
}

export type PackedValues = Uint8Array<SharedArrayBuffer>

export const openValues = (packed: PackedValues, length: number): Values => ({
  length,
  ...unpackRecords(packed, length),
})

export const jsonAt = ({ starts, json }: Values, rank: number): string =>
  json.toString('utf8', starts[rank], starts[rank + 1])

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
    const packed = new Uint8Array(sharedMemory(this.#starts.byteLength + this.#size))
    packed.set(new Uint8Array(this.#starts.buffer))
    packed.set(this.#json.subarray(0, this.#size), this.#starts.byteLength)
    return packed
  }
}

/** @param places the place of each value, in the order of the parts */
export function arrangeValues(parts: readonly Values[], places: Uint32Array): PackedValues {
  const lengths = new Uint32Array(places.length + 1)
  let at = 0
  for (const { length, starts } of parts)
    for (let n = 0; n < length; n++)
      lengths[(places[at++] as number) + 1] = (starts[n + 1] as number) - (starts[n] as number)
  for (let n = 1; n < lengths.length; n++) lengths[n] = (lengths[n] as number) + (lengths[n - 1] as number)
  const size = lengths.at(-1) as number
  const packed = new Uint8Array(sharedMemory(lengths.byteLength + size))
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

/**
 * Calls `take` for each value, with its text or, if it is not a text, its JSON. Decoding many values into one
 * string and cutting it takes a fifth of the time of decoding each.
 * @param tick called now and then; it may throw to stop
 */
export function eachText(
  values: Values,
  from: number,
  end: number,
  tick: () => void,
  take: (text: string, rank: number) => void,
): void {
  const { starts, json } = values
  for (let at = from; at < end; ) {
    tick()
    const start = starts[at] as number
    let to = at + 1
    while (to < end && (starts[to + 1] as number) - start <= sliceBytes) to++
    const slice = json.toString('utf8', start, starts[to])
    const isPlain = slice.length === (starts[to] as number) - start && !slice.includes('\\')
    for (let rank = at; rank < to; rank++) {
      const text = isPlain
        ? slice.substring((starts[rank] as number) - start, (starts[rank + 1] as number) - start)
        : jsonAt(values, rank)
      if (text.charCodeAt(0) !== quoteMark) take(text, rank)
      else take(isPlain ? text.substring(1, text.length - 1) : (JSON.parse(text) as string), rank)
    }
    at = to
  }
}

const quoteMark = 0x22

/**
 * All records of an entity in memory, back to back. Copying a page costs a tenth of reading it from the file.
 * It is one buffer, so that a thread can transfer it and the garbage collector has nothing to traverse.
 */
export interface LoadedRecords {
  /** The position where record n starts, and the end of the last record. */
  readonly starts: Uint32Array
  readonly json: Buffer
}

/** Maximum size in bytes: a position must fit into 32 bits. */
export const maxLoadedBytes = 0xffff_ffff

/** @param packed `count + 1` start positions, then the records */
export const unpackRecords = (packed: Uint8Array, count: number): LoadedRecords => ({
  starts: new Uint32Array(packed.buffer, packed.byteOffset, count + 1),
  json: Buffer.from(packed.buffer, packed.byteOffset + (count + 1) * Uint32Array.BYTES_PER_ELEMENT),
})

/** @returns the records with these numbers, in this order, joined by the separator */
export function pickRecords(
  { starts, json }: LoadedRecords,
  numbers: Uint32Array | readonly number[],
  separator: string,
): Uint8Array {
  const separatorByte = separator.charCodeAt(0)
  let length = -1
  for (const n of numbers) length += (starts[n + 1] as number) - (starts[n] as number) + 1
  const result = Buffer.allocUnsafe(Math.max(length, 0))
  let at = 0
  for (const n of numbers) {
    if (at > 0) result[at++] = separatorByte
    const start = starts[n] as number
    const end = starts[n + 1] as number
    at += json.copy(result, at, start, end)
  }
  return result
}

/** Lists the numbers from `from` to below `end`. */
export const range = (from: number, end: number) => Array.from({ length: end - from }, (_, at) => from + at)
