import { randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { writeAt } from '../../lib/files-at.ts'
import { processIdInName } from '../../lib/process-ids.ts'
import { textOfBinary } from '../../lib/sort-keys.ts'
import type { FieldType } from '../../model/entities.ts'
import { headerLength } from './stored-field.ts'
import { scaleOf } from './sums.ts'

/** Bytes of values that are written at a time. */
const bufferBytes = 1024 * 1024

/** Positions in the values must fit into 32 bits. */
const maxJsonBytes = 0xffff_ffff

/** The distinct values of a field, written to a file that still lacks the ranks, and its name. */
export interface WrittenValues {
  /** The path that the file has meanwhile. */
  readonly writing: string
  readonly distinct: number
  readonly places: number
  readonly json: number
  /** 0: a double doesn't hold each of the values. */
  readonly doubles: number
  /** Decimals of the numbers; -1: more than are added as whole numbers. */
  readonly scale: number
  readonly end: number
}

/** Writes the distinct values of a field, in order, to a new file (docs/decisions/0070). */
export class ValueWriter {
  readonly #writing: string
  readonly #descriptor: number
  readonly #type: FieldType
  readonly #buffer = Buffer.allocUnsafeSlow(bufferBytes)
  /** Bytes in the buffer. */
  #filled = 0
  /** Where the values begin in the file, and where the next ones go. */
  readonly #json: number
  #position: number
  readonly #places: Section<Uint32Array<ArrayBuffer>>
  #doubles: Section<Float64Array<ArrayBuffer>> | undefined
  #scale = 0
  #distinct = 0
  #size = 0

  /**
   * @param path with which the name of the file begins, until `finishField`
   * @param type of the field
   * @param most number of values for which there is to be room; what isn't used is a hole in the file
   */
  constructor(path: string, type: FieldType, most: number) {
    this.#writing = `${path}.${randomBytes(4).toString('hex')}.${processIdInName()}`
    this.#type = type
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    this.#descriptor = openSync(this.#writing, 'wx', 0o600)
    this.#places = new Section(this.#descriptor, new Uint32Array(blockLength), headerLength)
    const doubles = aligned(headerLength + 4 * (most + 1))
    const isNumeric = type === 'integer' || type === 'number'
    if (isNumeric) this.#doubles = new Section(this.#descriptor, new Float64Array(blockLength), doubles)
    this.#json = isNumeric ? doubles + 8 * most : doubles
    this.#position = this.#json
    this.#places.push(0)
  }

  /** Adds the next value. @param binary a text as `binaryText` writes it */
  addText(binary: string): void {
    const length = binary.length + 2
    if (length > this.#buffer.length) {
      this.addJson(JSON.stringify(textOfBinary(binary)))
      return
    }
    this.#reserve(length)
    const buffer = this.#buffer
    const from = this.#filled
    const end = from + length - 1
    buffer[from] = quoteMark
    buffer.write(binary, from + 1, 'latin1')
    buffer[end] = quoteMark
    for (let at = from + 1; at < end; at++)
      if (escaped[buffer[at] as number] === 1) {
        this.addJson(JSON.stringify(textOfBinary(binary)))
        return
      }
    this.#filled += length
    this.#end(length)
  }

  /** @param print writes the number as the records do */
  addNumber(value: number, print: (value: number) => string = String): void {
    this.#addDouble(value)
    this.#add(print(value))
  }

  /** @param json of a value other than null */
  addJson(json: string): void {
    if (this.#doubles) this.#addDouble(Number(json))
    this.#add(json)
  }

  #add(json: string): void {
    // A UTF-16 unit takes at most three bytes.
    this.#reserve(3 * json.length)
    if (3 * json.length <= this.#buffer.length) {
      const bytes = this.#buffer.write(json, this.#filled)
      this.#filled += bytes
      this.#end(bytes)
    } else {
      const bytes = Buffer.from(json)
      this.#append(bytes)
      this.#end(bytes.length)
    }
  }

  #addDouble(value: number): void {
    if (!this.#doubles) return
    if (this.#type === 'integer' && !Number.isSafeInteger(value)) {
      this.#doubles = undefined
      return
    }
    this.#doubles.push(value)
    if (this.#doubles.filled === blockLength) this.#endDoubles(this.#doubles)
  }

  #endDoubles(section: Section<Float64Array<ArrayBuffer>>): void {
    const scale = scaleOf(section.flush())
    this.#scale = Math.min(this.#scale, scale) < 0 ? -1 : Math.max(this.#scale, scale)
  }

  #reserve(bytes: number): void {
    if (this.#filled + bytes > this.#buffer.length) this.#flush()
  }

  #flush(): void {
    this.#append(this.#buffer.subarray(0, this.#filled))
    this.#filled = 0
  }

  #end(bytes: number): void {
    this.#size += bytes
    this.#distinct++
    this.#places.push(this.#size)
  }

  #append(view: NodeJS.ArrayBufferView): void {
    this.#position += writeAt(this.#descriptor, view, this.#position)
  }

  /** @returns undefined if the values are too large for such a file, which is removed */
  finish(): WrittenValues | undefined {
    if (this.#size > maxJsonBytes) {
      this.remove()
      return undefined
    }
    this.#flush()
    this.#places.flush()
    if (this.#doubles) this.#endDoubles(this.#doubles)
    closeSync(this.#descriptor)
    return {
      writing: this.#writing,
      distinct: this.#distinct,
      places: headerLength,
      json: this.#json,
      doubles: this.#doubles?.position ?? 0,
      scale: this.#doubles ? this.#scale : -1,
      end: this.#position,
    }
  }

  remove(): void {
    closeSync(this.#descriptor)
    rmSync(this.#writing, { force: true })
  }
}

export const aligned = (position: number): number => Math.ceil(position / 8) * 8

/** 1 for bytes of characters that are written otherwise in JSON, and the first one of surrogates without a partner. */
const escaped = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === 0x22 || byte === 0x5c || byte === 0xed ? 1 : 0,
)
const quoteMark = 0x22

const blockLength = 2 ** 14

/** Numbers in a file, which are written a block at a time. */
class Section<T extends Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>> {
  /** Where the numbers begin in the file. */
  readonly position: number
  readonly #descriptor: number
  readonly #block: T
  filled = 0
  #end: number

  constructor(descriptor: number, block: T, position: number) {
    this.#descriptor = descriptor
    this.#block = block
    this.position = position
    this.#end = position
  }

  push(value: number): void {
    if (this.filled === blockLength) this.flush()
    this.#block[this.filled++] = value
  }

  /** @returns the numbers that were not written yet, until the next one is pushed */
  flush(): T {
    const some = this.#block.subarray(0, this.filled) as T
    this.#end += writeAt(this.#descriptor, some, this.#end)
    this.filled = 0
    return some
  }
}
