import { parseExact } from '../../lib/json.ts'
import { sharedNumbers } from '../../lib/memory.ts'
import type { FieldType } from '../../model/entities.ts'
import type { FieldRef, Scalar } from '../../model/plan.ts'
import type { RecordEntity } from '../entities.ts'
import { orderIn } from './look-up.ts'
import { byRank, countRanks, inParts } from './ranks-in-order.ts'
import {
  FileNumbers,
  MemoryNumbers,
  type Numbers,
  type Ranks,
  readFile,
  readRanks,
  type StoredField,
} from './stored-field.ts'
import { jsonAt, openValues, type PackedValues, Packer, typedAt } from './values.ts'

/** The source of a column: a field, a member inside it, or, with a mask, its text by `to_string`. */
export type ColumnRef = FieldRef & { readonly mask?: string }

/** Highlighted text counts without marks. @throws Error for relevance, which is made of several fields */
export function columnOf(scalar: Scalar): ColumnRef {
  switch (scalar.kind) {
    case 'field':
      return scalar.field
    case 'to_string':
      return { ...scalar.field, mask: scalar.mask }
    case 'highlight':
      return scalar.field
    default:
      throw new Error(`${scalar.kind} is known only of whole records`)
  }
}

export const indexOf = ({ fields }: RecordEntity, { name }: ColumnRef): number =>
  fields.findIndex(field => field.name === name)

export const isDerived = ({ path, mask }: ColumnRef): boolean => path.length > 0 || mask !== undefined

/** Names a column within its entity. */
export function nameOf(entity: RecordEntity, ref: ColumnRef): string {
  const at = `${indexOf(entity, ref)}`
  return isDerived(ref) ? `${at} ${JSON.stringify([ref.path, ref.mask])}` : at
}

interface ColumnType {
  readonly type: FieldType
  readonly collation: string | undefined
}

/** The type and collation by which the values of a column compare. */
export function typeOf(entity: RecordEntity, ref: ColumnRef): ColumnType {
  if (ref.mask !== undefined) return { type: 'text', collation: undefined }
  if (ref.path.length > 0) return { type: 'json', collation: undefined }
  const field = entity.fields[indexOf(entity, ref)]
  return { type: field?.type ?? ref.type, collation: field?.collation }
}

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
interface Amounts {
  readonly scale: number
  /** Returns those of the records from `from` to below `end`, valid until the next call. */
  read(from: number, end: number): Int32Array
}

/** A column as one array: the number of distinct values, then the ranks and the starts. */
export type PackedColumn = Uint32Array<SharedArrayBuffer>

/** A column as threads are given it. */
export type GivenColumn = PackedColumn | StoredField

export const isStored = (column: GivenColumn): column is StoredField => 'path' in column

export const distinctIn = (column: GivenColumn): number =>
  isStored(column) ? column.distinct : (column[0] as number)

/** @param ranks of all records @param nullable true if the highest rank is that of records without a value */
export function packColumn(ranks: Uint32Array, nullable: boolean): PackedColumn {
  let highest = -1
  for (let n = 0; n < ranks.length; n++) if ((ranks[n] as number) > highest) highest = ranks[n] as number
  return packRanks(ranks, nullable ? Math.max(highest, 0) : highest + 1)
}

export function packRanks(ranks: Uint32Array, distinct: number): PackedColumn {
  const count = ranks.length
  const packed = sharedNumbers(1 + count + distinct + 2)
  packed[0] = distinct
  packed.set(ranks, 1)
  countRanks(ranks, unpackColumn(packed, count).starts)
  return packed
}

/** The parts of a packed column. */
export const unpackColumn = (packed: PackedColumn, count: number) => ({
  distinct: packed[0] as number,
  ranks: packed.subarray(1, 1 + count),
  starts: packed.subarray(1 + count),
})

export function openColumn(given: GivenColumn, count: number): Column {
  if (isStored(given)) return new StoredColumn(given)
  const { distinct, ranks, starts } = unpackColumn(given, count)
  return {
    distinct,
    ranks,
    read: (from, end) => ranks.subarray(from, end),
    reader: () => n => ranks[n] as number,
    starts: new MemoryNumbers(starts),
    amounts: undefined,
  }
}

/** Ranks of a file that are read where only a few records are wanted. */
const fewRanks = 512

class StoredColumn implements Column {
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

/** The numbers of all records by rank, as threads are given them. */
export type GivenPostings = Uint32Array<SharedArrayBuffer> | StoredField

export const openPostings = (given: GivenPostings): Numbers =>
  'path' in given ? new FileNumbers(given.path, given.postings, given.count) : new MemoryNumbers(given)

/** Sorts record numbers by rank: those of one rank are at `starts[rank]` to below `starts[rank + 1]`. */
export function postingsOf(packed: PackedColumn, count: number): Uint32Array<SharedArrayBuffer> {
  const { ranks, starts } = unpackColumn(packed, count)
  const numbers = sharedNumbers(count)
  byRank(inParts(ranks), starts.length - 1, {
    starts: () => {},
    numbers: (some, from) => numbers.set(some, from),
  })
  return numbers
}

/** The number of the first record with each rank, except null's. */
export function firstNumbers({ distinct, ranks }: Column): Uint32Array<SharedArrayBuffer> {
  const first = sharedNumbers(distinct + 1)
  for (let n = ranks.length - 1; n >= 0; n--) first[ranks[n] as number] = n
  return first.subarray(0, distinct)
}

/**
 * Derives a column from another: each distinct value becomes a new one, such as a member inside it.
 * @param texts for each distinct value of the base, the new value as JSON; '' for null
 * @param type of the new values
 * @param tick called now and then; it may throw to stop
 */
export function derive(
  base: GivenColumn,
  count: number,
  texts: PackedValues,
  type: FieldType,
  tick: () => void,
): { readonly column: PackedColumn; readonly values: PackedValues } {
  const { distinct, ranks } = openColumn(base, count)
  const given = openValues(texts, distinct)
  const order = orderIn({ type })
  const byKey = new Map<string, number[]>()
  for (let rank = 0; rank < distinct; rank++) {
    if ((rank & 0x3ff) === 0) tick()
    if (given.bytesAt(rank).length === 0) continue
    const key = order.key(typedAt(given, rank, type))
    const same = byKey.get(key)
    if (same) same.push(rank)
    else byKey.set(key, [rank])
  }
  const keys = [...byKey.keys()].sort(order.compare)
  tick()
  const derived = new Uint32Array(distinct + 1).fill(keys.length)
  const packer = new Packer(keys.length)
  for (const [place, key] of keys.entries()) {
    const same = byKey.get(key) ?? []
    for (const rank of same) derived[rank] = place
    packer.add(jsonAt(given, same[0] as number))
  }
  return {
    column: packRanks(
      Uint32Array.from(ranks, rank => derived[rank] as number),
      keys.length,
    ),
    values: packer.finish(),
  }
}

/** Makes columns of rows that were already read. @param rows a JSON array of arrays without nulls */
export function columnsOfRows(
  rows: string,
  types: readonly FieldType[],
  tick: () => void,
): { count: number; columns: readonly { readonly column: PackedColumn; readonly values: PackedValues }[] } {
  const read = parseExact(rows) as readonly (readonly unknown[])[]
  const base = packRanks(
    Uint32Array.from(read, (_, at) => at),
    read.length,
  )
  const columns = types.map((type, at) => {
    const packer = new Packer(read.length)
    for (const row of read) packer.add(JSON.stringify(row[at]))
    return derive(base, read.length, packer.finish(), type, tick)
  })
  return { count: read.length, columns }
}
