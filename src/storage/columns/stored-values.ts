import { FileNumbers, type Numbers, readFile, type StoredField } from './stored-field.ts'

/** The distinct values of a column as JSON, by rank, in memory or in a file. */
export interface Values {
  readonly length: number
  /** Returns the bytes of a value. They are valid until the next call. */
  bytesAt(rank: number): Buffer
  /** Reads the values from rank `from` to below `end`, in parts that are valid until the next one. */
  parts(from: number, end: number): Iterable<ValuesPart>
  /** The values of rank `from` to below `end` as doubles; undefined unless a double holds each value exactly. */
  doubles(from: number, end: number): Float64Array | undefined
}

/** Some values in a row. */
export interface ValuesPart {
  /** The rank of the first one, and the end. */
  readonly from: number
  readonly end: number
  /** For the value of rank `from + n`, `starts[n]` is its position in `json`, counted from `starts[0]`. */
  readonly starts: Uint32Array
  readonly json: Buffer
}

/** Values read from a file at a time: at most this many, and about this many bytes. */
const partLength = 8_192
const partBytes = 256 * 1024

export class FileValues implements Values {
  readonly length: number
  readonly #field: StoredField
  readonly #places: Numbers

  constructor(field: StoredField) {
    this.#field = field
    this.length = field.distinct
    this.#places = new FileNumbers(field.path, field.places, field.distinct + 1)
  }

  bytesAt(rank: number): Buffer {
    const [start = 0, end = 0] = this.#places.slice(rank, rank + 2)
    return this.#read(start, end)
  }

  *parts(from: number, end: number): Iterable<ValuesPart> {
    for (let at = from; at < end; ) {
      const most = this.#places.slice(at, Math.min(end, at + partLength) + 1).slice()
      const first = most[0] as number
      let length = 1
      while (length < most.length - 1 && (most[length + 1] as number) - first <= partBytes) length++
      const starts = most.subarray(0, length + 1)
      yield { from: at, end: at + length, starts, json: this.#read(first, starts[length] as number) }
      at += length
    }
  }

  doubles(from: number, end: number): Float64Array | undefined {
    const { path, doubles } = this.#field
    if (doubles === 0) return undefined
    const read = new Float64Array(end - from)
    readFile(path, read, doubles + from * Float64Array.BYTES_PER_ELEMENT)
    return read
  }

  #read(start: number, end: number): Buffer {
    const bytes = Buffer.allocUnsafe(end - start)
    readFile(this.#field.path, bytes, this.#field.json + start)
    return bytes
  }
}
