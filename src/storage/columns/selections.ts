import { sharedNumbers } from '../../lib/memory.ts'
import type { Part } from '../../model/functions/function.ts'
import { lastUpTo } from './edits.ts'

/** A set of records: a list of their numbers, ascending, or a bit for each record. */
export type Selection =
  | { readonly kind: 'list'; readonly numbers: Uint32Array }
  | { readonly kind: 'bits'; readonly words: Uint32Array }

export const emptySelection: Selection = { kind: 'list', numbers: new Uint32Array() }

/** Maximum length of a list, up to which it takes no more memory than the bits. */
export const maxListed = (count: number): number => Math.max(32, count >>> 5)

export const noBits = (count: number): Uint32Array<ArrayBuffer> => new Uint32Array((count + 31) >>> 5)

export function countBits(words: Uint32Array): number {
  let bits = 0
  for (let at = 0; at < words.length; at++) {
    let word = words[at] as number
    word -= (word >>> 1) & 0x5555_5555
    word = (word & 0x3333_3333) + ((word >>> 2) & 0x3333_3333)
    bits += Math.imul((word + (word >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
  }
  return bits
}

export const sizeOfSelection = (selection: Selection): number =>
  selection.kind === 'list' ? selection.numbers.length : countBits(selection.words)

export function setBits(words: Uint32Array, numbers: Uint32Array): void {
  for (let at = 0; at < numbers.length; at++) {
    const n = numbers[at] as number
    words[n >>> 5] = (words[n >>> 5] as number) | (1 << (n & 31))
  }
}

/** Lists the numbers of the bits that are set, ascending. @param into has room for all @returns how many */
export function listBits(words: Uint32Array, into: Uint32Array): number {
  let size = 0
  for (let at = 0; at < words.length; at++) {
    let word = words[at] as number
    const base = at << 5
    if (word === 0xffff_ffff) {
      for (let bit = 0; bit < 32; bit++) into[size++] = base + bit
      continue
    }
    while (word !== 0) {
      const bit = 31 - Math.clz32(word & -word)
      into[size++] = base + bit
      word &= word - 1
    }
  }
  return size
}

/** Sets the bits of all records; those after the last record stay 0. */
export function allBits(count: number): Uint32Array<ArrayBuffer> {
  const words = noBits(count).fill(0xffff_ffff)
  if ((count & 31) !== 0 && words.length > 0) words[words.length - 1] = (1 << (count & 31)) - 1
  return words
}

/** Returns the numbers of a selection, ascending. @param selection undefined: all records */
export function numbersIn(selection: Selection | undefined, count: number): Uint32Array {
  if (selection?.kind === 'list') return selection.numbers
  const numbers = new Uint32Array(selection ? countBits(selection.words) : count)
  if (selection) listBits(selection.words, numbers)
  else for (let n = 0; n < count; n++) numbers[n] = n
  return numbers
}

/** Number of records that are read at a time, a multiple of 32. */
export const partLength = 65_536

/** Lists the parts that have selected records. Each is valid until the next one. */
export function* partsOf(selection: Selection | undefined, count: number): Iterable<Part> {
  const places = new Uint32Array(Math.min(partLength, count))
  let first = 0
  for (let from = 0; from < count; from += partLength) {
    const end = Math.min(count, from + partLength)
    if (!selection) {
      yield { from, end, length: end - from, first, places: undefined }
      first += end - from
      continue
    }
    const length =
      selection.kind === 'bits'
        ? listBits(selection.words.subarray(from >>> 5, (end + 31) >>> 5), places)
        : listBetween(selection.numbers, first, from, end, places)
    if (length > 0) yield { from, end, length, first, places: places.subarray(0, length) }
    first += length
  }
}

function listBetween(
  numbers: Uint32Array,
  first: number,
  from: number,
  end: number,
  places: Uint32Array,
): number {
  let at = first
  while (at < numbers.length && (numbers[at] as number) < end) {
    places[at - first] = (numbers[at] as number) - from
    at++
  }
  return at - first
}

/** Makes a selection in the smaller of the two forms. */
export function compact(words: Uint32Array, count: number): Selection {
  const size = countBits(words)
  if (size > maxListed(count)) return { kind: 'bits', words }
  const numbers = new Uint32Array(size)
  listBits(words, numbers)
  return { kind: 'list', numbers }
}

/**
 * A selection as one array: its size, 1 for bits or 0 for a list, the number of words or numbers, and these.
 * After bits follows, for each block of them, the number of bits set before it.
 */
export type PackedSelection = Uint32Array<SharedArrayBuffer>

const headLength = 3

/** Words in a block. */
const blockLength = 32

export function packSelection(selection: Selection): PackedSelection {
  if (selection.kind === 'list') {
    const { numbers } = selection
    const packed = sharedNumbers(headLength + numbers.length)
    packed.set([numbers.length, 0, numbers.length])
    packed.set(numbers, headLength)
    return packed
  }
  const { words } = selection
  const blocks = Math.ceil(words.length / blockLength)
  const packed = sharedNumbers(headLength + words.length + blocks)
  packed.set(words, headLength)
  let size = 0
  for (let block = 0; block < blocks; block++) {
    packed[headLength + words.length + block] = size
    size += countBits(words.subarray(block * blockLength, (block + 1) * blockLength))
  }
  packed.set([size, 1, words.length])
  return packed
}

export const openSelection = (packed: PackedSelection): Selection => {
  const data = packed.subarray(headLength, headLength + (packed[2] as number))
  return packed[1] === 1 ? { kind: 'bits', words: data } : { kind: 'list', numbers: data }
}

export const packedSize = (packed: PackedSelection): number => packed[0] as number

/** Returns the selected numbers from place `from` to below `end`. */
export function numbersBetween(packed: PackedSelection, from: number, end: number): Uint32Array {
  const selection = openSelection(packed)
  if (selection.kind === 'list') return selection.numbers.subarray(from, end)
  const { words } = selection
  const before = packed.subarray(headLength + words.length)
  const low = Math.max(0, lastUpTo(before, from))
  const numbers = new Uint32Array(Math.max(0, Math.min(end, packedSize(packed)) - from))
  let place = before[low] as number
  for (let at = low * blockLength, size = 0; size < numbers.length; at++) {
    let word = words[at] as number
    while (word !== 0 && size < numbers.length) {
      if (place++ >= from) numbers[size++] = (at << 5) + 31 - Math.clz32(word & -word)
      word &= word - 1
    }
  }
  return numbers
}

/** Returns as many of the numbers as are wanted, ascending: those with the least hashes. */
export function sampleOf(numbers: Uint32Array, size: number, seed: number): Uint32Array {
  if (numbers.length <= size) return numbers.slice()
  const hashes = numbers.map(n => shuffled(n, seed))
  const last = hashes.slice().sort()[size - 1] as number
  return numbers.filter((_, at) => (hashes[at] as number) <= last)
}

/** Mixes the bits of a number; different ones stay different (the finalizer of MurmurHash3). */
function shuffled(n: number, seed: number): number {
  let hash = (n + Math.imul(seed, 0x9e37_79b1)) | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
