import { hash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { StoreUnavailable } from '../../lib/errors.ts'
import { readAt } from '../../lib/files-at.ts'
import { isOutOfDescriptors, systemReason } from '../../lib/system-errors.ts'

/**
 * Facts about a field of a version, in a file beside it (docs/decisions/0070): the rank of each record,
 * the records by rank, and the distinct values by rank. The file never changes, so that all threads read the
 * parts that they need, and the memory for them is that of the operating system.
 */
export interface StoredField {
  readonly path: string
  /** Number of records. */
  readonly count: number
  /** Number of distinct values; records without a value have this rank. */
  readonly distinct: number
  /** Bytes of a rank: 2 or 4. */
  readonly width: number
  /** Positions in the file of the ranks, and of what `Column` calls `starts`, in 32 bits each. */
  readonly ranks: number
  readonly starts: number
  /** Position of the record numbers by rank, 32 bits each. */
  readonly postings: number
  /** Positions of where each value starts and the last one ends, 32 bits each, and of the values as JSON. */
  readonly places: number
  readonly json: number
  /** Position of the values as doubles; 0 if a double does not hold each of them exactly. */
  readonly doubles: number
  /**
   * Position of the value of each record as a whole number of 32 bits, times ten to the power of `scale`; 0:
   * there are so few distinct values that looking each up is as fast, or they aren't such numbers.
   */
  readonly amounts: number
  readonly scale: number
}

/** Number of distinct values from which ranks take four bytes instead of two; null has a rank, too. */
export const fewestWide = 0xffff

/** Stands for null among amounts. */
export const noAmount = -0x8000_0000

/** Ranks of records. Two bytes are enough for most fields, and are read in half of the time. */
export type Ranks = Uint16Array | Uint32Array

/** Whole numbers, in memory or in a file. */
export interface Numbers {
  readonly length: number
  at(place: number): number
  /** Returns the numbers from `from` to below `end`. They are valid until the next call. */
  slice(from: number, end: number): Uint32Array
}

export class MemoryNumbers implements Numbers {
  readonly all: Uint32Array

  constructor(all: Uint32Array) {
    this.all = all
  }

  get length(): number {
    return this.all.length
  }

  at(place: number): number {
    return this.all[place] as number
  }

  slice(from: number, end: number): Uint32Array {
    return this.all.subarray(from, end)
  }
}

/** Numbers read at a time where single ones are wanted. */
const windowLength = 2_048

/** Numbers in a file. Reading them in order costs one read for each window. */
export class FileNumbers implements Numbers {
  readonly length: number
  readonly #path: string
  readonly #position: number
  readonly #window = new Uint32Array(windowLength)
  #from = 0
  #end = 0

  /** @param position in bytes */
  constructor(path: string, position: number, length: number) {
    this.#path = path
    this.#position = position
    this.length = length
  }

  at(place: number): number {
    if (place < this.#from || place >= this.#end) this.#read(place)
    return this.#window[place - this.#from] as number
  }

  slice(from: number, end: number): Uint32Array {
    if (end - from > windowLength) {
      const many = new Uint32Array(end - from)
      readFile(this.#path, many, this.#position + from * Uint32Array.BYTES_PER_ELEMENT)
      return many
    }
    if (from < this.#from || end > this.#end) this.#read(from)
    return this.#window.subarray(from - this.#from, end - this.#from)
  }

  #read(from: number): void {
    this.#from = from
    this.#end = Math.min(this.length, from + windowLength)
    readFile(
      this.#path,
      this.#window.subarray(0, this.#end - from),
      this.#position + from * Uint32Array.BYTES_PER_ELEMENT,
    )
  }
}

/** Reads the ranks of consecutive records, from number `from`, as many as the array has room for. */
export function readRanks({ path, ranks, width }: StoredField, from: number, into: Ranks): void {
  readFile(path, into, ranks + from * width)
}

/** Files that this thread has open, by path; the least recently used are closed. */
const open = new Map<string, number>()
const maxOpen = 256

function descriptorOf(path: string): number {
  const known = open.get(path)
  if (known !== undefined) {
    if (open.size > maxOpen / 2) {
      open.delete(path)
      open.set(path, known)
    }
    return known
  }
  const descriptor = openNow(path)
  open.set(path, descriptor)
  if (open.size > maxOpen)
    for (const [oldest, one] of open) {
      open.delete(oldest)
      closeSync(one)
      break
    }
  return descriptor
}

function openNow(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    throw new StoreUnavailable(`${path} can't be read: ${systemReason(cause) ?? String(cause)}`, { cause })
  }
}

/** Closes files of this thread, so that a removed one no longer takes room on the disk. */
export function closeStored(isUsed: (path: string) => boolean): void {
  for (const [path, descriptor] of open) {
    if (isUsed(path)) continue
    open.delete(path)
    closeSync(descriptor)
  }
}

/** Fills the array. @throws StoreUnavailable if the file is gone or too short */
export function readFile(path: string, into: NodeJS.ArrayBufferView, position: number): void {
  if (readAt(descriptorOf(path), into, position) < into.byteLength)
    throw new StoreUnavailable(`${path} is cut short`)
}

/** Length of the header in bytes: a line of text that tells the kind of file, and numbers of 64 bits. */
export const headerLength = 128
const lineLength = 16
const headerNumbers = (headerLength - lineLength) / 8

/** A number that tells the file of one field from that of any other, made from the names of both. */
const markOf = (path: string): number =>
  Number.parseInt(hash('sha256', `${basename(dirname(path))}/${basename(path)}`, 'hex').slice(0, 12), 16)

/** @param path under which the file will be found */
export function headerOf(kind: string, path: string, numbers: readonly number[]): Uint8Array {
  const header = Buffer.alloc(headerLength)
  header.write(kind, 'latin1')
  for (const [at, number] of [markOf(path), ...numbers].entries())
    header.writeDoubleLE(number, lineLength + 8 * at)
  return header
}

/** The part of a header that differs between versions, and its position. @param path under which the file will be found */
export function markIn(path: string): readonly [mark: Uint8Array, position: number] {
  const mark = Buffer.alloc(8)
  mark.writeDoubleLE(markOf(path))
  return [mark, lineLength]
}

/**
 * Reads the header of a file.
 * @returns the numbers in it, without the size; undefined if there is no such file, or it is not the one of
 *   this field, or not as long as it was written
 */
export function readHeader(kind: string, path: string): readonly number[] | undefined {
  const header = Buffer.alloc(headerLength)
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    if (readSync(descriptor, header, 0, headerLength, 0) < headerLength) return undefined
    if (header.toString('latin1', 0, kind.length) !== kind) return undefined
    const [mark, size, ...numbers] = Array.from({ length: headerNumbers }, (_, at) =>
      header.readDoubleLE(lineLength + 8 * at),
    )
    return mark === markOf(path) && size === fstatSync(descriptor).size ? numbers : undefined
  } catch (error) {
    // The file would be made again.
    if (isOutOfDescriptors(error)) throw error
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

const fieldKind = 'carrel field 1\n'

/** @param path under which the file will be found */
export function headerOfField(field: Omit<StoredField, 'path'>, size: number, path: string): Uint8Array {
  const { count, distinct, width, ranks, starts, postings, places, json, doubles, amounts, scale } = field
  return headerOf(fieldKind, path, [
    size,
    ...[count, distinct, width, ranks, starts, postings, places, json, doubles, amounts, scale],
  ])
}

/** @returns undefined if there is no file of the field, or it is not the one of this version */
export function openStored(path: string, records: number): StoredField | undefined {
  const numbers = readHeader(fieldKind, path)
  if (!numbers) return undefined
  const [count = 0, distinct = 0, width = 0, ranks = 0, starts = 0, postings = 0, places = 0, json = 0] =
    numbers
  if (count !== records) return undefined
  const [doubles = 0, amounts = 0, scale = 0] = numbers.slice(8)
  return { path, count, distinct, width, ranks, starts, postings, places, json, doubles, amounts, scale }
}
