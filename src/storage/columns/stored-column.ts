import {
  FileNumbers,
  type Numbers,
  type Ranks,
  readFile,
  readRanks,
  type StoredField,
} from './stored-field.ts'

/**
 * A field of a version as numbers (docs/decisions/0035), in memory that threads share or in a file: for each
 * record, the rank of its value among the distinct ones. Records without a value have the rank `distinct`.
 */
export interface Column {
  readonly distinct: number
  /** The ranks of all records. Those in a file are read once, when they are first wanted. */
  readonly ranks: Ranks
  /** Returns the ranks of the records from `from` to below `end`, valid until the next call. */
  read(from: number, end: number): Ranks
  /** Returns a function that reads the rank of a record. @param times approximate number of calls */
  reader(times: number): (n: number) => number
  /** For each rank, including null's, the number of records with a lower one; then the number of all. */
  readonly starts: Numbers
  /** The numbers of the records, if they are in the file in this form. */
  readonly amounts: Amounts | undefined
}

/** Numbers of records, times ten to the power of `scale`. */
export interface Amounts {
  readonly scale: number
  /** Returns those of the records from `from` to below `end`, valid until the next call. */
  read(from: number, end: number): Int32Array
}

/** The numbers of all records by rank. */
export interface Postings {
  /** Returns those with ranks from `from` to below `end`, valid until the next call; those of one rank ascend. */
  of(from: number, end: number): Uint32Array
}

/** Ranks of a file that are read where only a few records are wanted. */
const fewRanks = 512

export class StoredColumn implements Column {
  readonly distinct: number
  readonly starts: Numbers
  readonly #field: StoredField
  #ranks: Ranks | undefined
  #part: Ranks = new Uint16Array()

  constructor(field: StoredField) {
    this.#field = field
    this.distinct = field.distinct
    this.starts = new FileNumbers(field.path, field.starts, field.distinct + 2)
  }

  get amounts(): Amounts | undefined {
    const { path, amounts, scale } = this.#field
    if (amounts === 0) return undefined
    let part = new Int32Array()
    return {
      scale,
      read: (from, end) => {
        if (part.length < end - from) part = new Int32Array(end - from)
        const read = part.subarray(0, end - from)
        readFile(path, read, amounts + from * Int32Array.BYTES_PER_ELEMENT)
        return read
      },
    }
  }

  get ranks(): Ranks {
    this.#ranks ??= this.#read(0, this.#field.count)
    return this.#ranks
  }

  read(from: number, end: number): Ranks {
    if (this.#part.length < end - from) this.#part = this.#room(end - from)
    const part = this.#part.subarray(0, end - from)
    readRanks(this.#field, from, part)
    return part
  }

  reader(times: number): (n: number) => number {
    const { count } = this.#field
    if (times * fewRanks > count) {
      const { ranks } = this
      return n => ranks[n] as number
    }
    let [from, end] = [0, 0]
    let some = this.#room(0)
    return n => {
      if (n < from || n >= end) {
        from = n
        end = Math.min(count, n + fewRanks)
        some = this.#read(from, end)
      }
      return some[n - from] as number
    }
  }

  #room(length: number): Ranks {
    return this.#field.width === 2 ? new Uint16Array(length) : new Uint32Array(length)
  }

  #read(from: number, end: number): Ranks {
    const ranks = this.#room(end - from)
    readRanks(this.#field, from, ranks)
    return ranks
  }
}

/** @param starts of the column @param numbers of all records by rank */
export const postingsIn = (starts: Numbers, numbers: Numbers): Postings => ({
  of: (from, end) => numbers.slice(starts.at(from), starts.at(end)),
})
