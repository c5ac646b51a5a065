import { TooMuch } from '../../lib/errors.ts'
import type { Part } from '../../model/functions/function.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { partLength, partsOf, type Selection, sizeOfSelection } from './selections.ts'
import type { Column } from './stored-column.ts'
import type { Ranks } from './stored-field.ts'

/** Records in groups. They are read in parts, so that memory doesn't grow with their number. */
interface Grouping {
  /** One more than the highest group number. */
  readonly size: number
  /** The number of each record's group, valid until the next call. */
  idsIn(part: Part): Ranks
  /** The rank that all records of a group have in one of its columns. */
  rankOf(column: number, id: number): number
}

/** Maximum number of combinations of ranks for which group numbers are computed, without hashing. */
const maxCombinations = 2 ** 20

/** Maximum number of groups held in memory. */
export const maxGroups = 1_000_000

/** The ranks of the selected records of a part. @param into has room for them */
export function ranksIn(column: Column, { from, end, length, places }: Part, into: Uint32Array): Ranks {
  const ranks = column.read(from, end)
  if (!places) return ranks
  for (let at = 0; at < length; at++) into[at] = ranks[places[at] as number] as number
  return into
}

/**
 * Groups records by their ranks in some columns, including null's. If there are few combinations of ranks,
 * the place of a combination among all is its group number, so that groups are in the order of the columns.
 * @param selection undefined: all records
 */
export function groupBy(
  columns: readonly Column[],
  selection: Selection | undefined,
  count: number,
): Grouping {
  const [only] = columns
  const sizes = columns.map(({ distinct }) => distinct + 1)
  const combinations = sizes.reduce((product, size) => product * size, 1)
  if (combinations > maxCombinations) return hashed(columns, selection, count)
  const ids = new Uint32Array(Math.min(partLength, count))
  if (columns.length === 1 && only)
    return { size: combinations, idsIn: part => ranksIn(only, part, ids), rankOf: (_, id) => id }
  const some = new Uint32Array(ids.length)
  const steps = sizes.map((_, at) => sizes.slice(at + 1).reduce((product, size) => product * size, 1))
  return {
    size: combinations,
    idsIn: part => {
      ids.fill(0, 0, part.length)
      for (const [at, column] of columns.entries()) {
        const ranks = ranksIn(column, part, some)
        const size = sizes[at] as number
        for (let n = 0; n < part.length; n++) ids[n] = (ids[n] as number) * size + (ranks[n] as number)
      }
      return ids
    },
    rankOf: (column, id) => Math.floor(id / (steps[column] as number)) % (sizes[column] as number),
  }
}

function hashed(columns: readonly Column[], selection: Selection | undefined, count: number): Grouping {
  const length = selection ? sizeOfSelection(selection) : count
  const ids = new Uint32Array(length)
  const some = new Uint32Array(Math.min(partLength, count))
  let size = 1
  for (const column of columns) {
    const pairs = new Pairs(column.distinct + 1, length)
    for (const part of partsOf(selection, count)) {
      mayGoOn()
      const ranks = ranksIn(column, part, some)
      for (let n = 0; n < part.length; n++)
        ids[part.first + n] = pairs.add(ids[part.first + n] as number, ranks[n] as number)
    }
    size = pairs.size
    if (size > maxGroups) throw tooManyGroups()
  }
  const examples = new Uint32Array(size)
  for (const { from, first, length, places } of partsOf(selection, count))
    for (let n = 0; n < length; n++)
      examples[ids[first + n] as number] = from + (places ? (places[n] as number) : n)
  const readers = columns.map(column => column.reader(size))
  return {
    size,
    idsIn: ({ first, length }) => ids.subarray(first, first + length),
    rankOf: (column, id) => readers[column]?.(examples[id] as number) as number,
  }
}

export const tooManyGroups = (): TooMuch =>
  new TooMuch(
    `The query makes more than ${maxGroups.toLocaleString('en')} groups. Group by fewer fields, or add a condition.`,
  )

/**
 * A set of tuples of small integers. Each pair of the first two gets a number, which makes a pair with the
 * next one, and so on.
 */
export class TupleSet {
  readonly #pairs: readonly Pairs[]

  /** @param sizes number of values at each place @param most maximum number of tuples */
  constructor(sizes: readonly number[], most: number) {
    this.#pairs = sizes.slice(1).map(size => new Pairs(size, most))
  }

  add(tuple: readonly number[]): void {
    let at = tuple[0] as number
    for (const [place, pairs] of this.#pairs.entries()) at = pairs.add(at, tuple[place + 1] as number)
  }

  has(tuple: readonly number[]): boolean {
    let at = tuple[0] as number
    for (const [place, pairs] of this.#pairs.entries()) {
      at = pairs.find(at, tuple[place + 1] as number)
      if (at < 0) return false
    }
    return true
  }
}

/** Numbers pairs in the order in which they are first met: a hash table with open addressing. */
export class Pairs {
  readonly #second: number
  #keys: Float64Array
  #numbers: Uint32Array
  #mask: number
  #size = 0

  /** @param second one more than the highest second number @param expected estimated number of pairs */
  constructor(second: number, expected: number) {
    this.#second = Math.max(1, second)
    this.#mask = 2 ** Math.min(20, Math.max(4, Math.ceil(Math.log2(expected * 2 + 1)))) - 1
    this.#keys = new Float64Array(this.#mask + 1).fill(-1)
    this.#numbers = new Uint32Array(this.#mask + 1)
  }

  get size(): number {
    return this.#size
  }

  /** @returns the number of the pair; -1 if it was never added */
  find(first: number, second: number): number {
    const at = this.#place(first * this.#second + second)
    return this.#keys[at] === -1 ? -1 : (this.#numbers[at] as number)
  }

  add(first: number, second: number): number {
    // Both are below 2^32, and one is the number of a record or a pair, so that the product is exact.
    const key = first * this.#second + second
    let at = this.#place(key)
    if (this.#keys[at] !== -1) return this.#numbers[at] as number
    if (2 * this.#size > this.#mask) {
      this.#grow()
      at = this.#place(key)
    }
    this.#keys[at] = key
    this.#numbers[at] = this.#size
    return this.#size++
  }

  #place(key: number): number {
    // Mixes both halves of the key by multiplying them with large odd numbers.
    const low = key >>> 0
    const high = Math.floor(key / 0x1_0000_0000)
    let hash = Math.imul(low, 0x9e37_79b1) ^ Math.imul(high, 0x85eb_ca6b)
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2_ae35)
    let at = (hash ^ (hash >>> 13)) & this.#mask
    while (this.#keys[at] !== -1 && this.#keys[at] !== key) at = (at + 1) & this.#mask
    return at
  }

  #grow(): void {
    const [keys, numbers] = [this.#keys, this.#numbers]
    this.#mask = 2 * this.#mask + 1
    this.#keys = new Float64Array(this.#mask + 1).fill(-1)
    this.#numbers = new Uint32Array(this.#mask + 1)
    for (const [from, key] of keys.entries()) {
      if (key === -1) continue
      const at = this.#place(key)
      this.#keys[at] = key
      this.#numbers[at] = numbers[from] as number
    }
  }
}
