import { randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { writeAt } from '../../lib/files-at.ts'
import { processIdInName } from '../../lib/process-ids.ts'
import { textOfBinary } from '../../lib/sort-keys.ts'
import type { FieldType } from '../../model/entities.ts'
import { scaleOf } from './amounts.ts'
import { headerLength } from './stored-field.ts'

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
  /** Bytes in the buffer, and in the file. */
  #filled = 0
  #position = headerLength
  readonly #places = new Growing<Uint32Array<ArrayBuffer>>(Uint32Array)
  #doubles: Growing<Float64Array<ArrayBuffer>> | undefined
  #distinct = 0
  #size = 0

  /** @param path with which the name of the file begins, until `finishField` @param type of the field */
  constructor(path: string, type: FieldType) {
    this.#writing = `${path}.${randomBytes(4).toString('hex')}.${processIdInName()}`
    this.#type = type
    this.#places.push(0)
    if (type === 'integer' || type === 'number') this.#doubles = new Growing(Float64Array)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    this.#descriptor = openSync(this.#writing, 'wx', 0o600)
  }

  /** Adds the next value. @param binary a text as `binaryText` writes it */
  addText(binary: string): void {
    const length = binary.length + 2
    if (length > this.#buffer.length || escaped.test(binary)) {
      this.addJson(JSON.stringify(textOfBinary(binary)))
      return
    }
    this.#reserve(length)
    const from = this.#filled
    this.#buffer[from] = quoteMark
    this.#buffer.write(binary, from + 1, 'latin1')
    this.#buffer[from + length - 1] = quoteMark
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

  #append(view: NodeJS.ArrayBufferView): number {
    const position = this.#position
    this.#position += writeAt(this.#descriptor, view, position)
    return position
  }

  /** @returns undefined if the values are too large for such a file, which is removed */
  finish(): WrittenValues | undefined {
    if (this.#size > maxJsonBytes) {
      this.remove()
      return undefined
    }
    const distinct = this.#distinct
    this.#flush()
    this.#position = aligned(this.#position)
    const numbers = this.#doubles?.take()
    const scales = numbers?.map(scaleOf) ?? [-1]
    const doubles = this.#position
    for (const some of numbers ?? []) this.#append(some)
    const places = this.#position
    for (const some of this.#places.take()) this.#append(some)
    closeSync(this.#descriptor)
    return {
      writing: this.#writing,
      distinct,
      places,
      doubles: numbers ? doubles : 0,
      scale: scales.includes(-1) ? -1 : Math.max(0, ...scales),
      end: this.#position,
    }
  }

  remove(): void {
    closeSync(this.#descriptor)
    rmSync(this.#writing, { force: true })
  }
}

export const aligned = (position: number): number => Math.ceil(position / 8) * 8

/** Characters that are written otherwise in JSON, and the first bytes of surrogates without a partner. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes control characters.
const escaped = /["\\\0-\x1f]|\xed[\xa0-\xbf]/
const quoteMark = 0x22

type Blocks = Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>

const blockLength = 2 ** 16

/** Numbers that are collected in blocks, so that those that are there already need not be copied. */
class Growing<T extends Blocks> {
  readonly #make: new (
    length: number,
  ) => T
  readonly #blocks: T[] = []
  #at = blockLength

  constructor(make: new (length: number) => T) {
    this.#make = make
  }

  push(value: number): void {
    if (this.#at === blockLength) {
      this.#blocks.push(new this.#make(blockLength))
      this.#at = 0
    }
    const block = this.#blocks.at(-1) as T
    block[this.#at++] = value
  }

  /** Returns the blocks with all numbers. */
  take(): readonly T[] {
    const last = this.#blocks.pop()
    if (last) this.#blocks.push(last.subarray(0, this.#at) as T)
    return this.#blocks
  }
}
