import { hash } from 'node:crypto'
import { parseExact } from '../../lib/json.ts'
import { memo } from '../../lib/memo.ts'
import { sharedNumbers } from '../../lib/memory.ts'
import type { FieldType } from '../../model/entities.ts'
import type { FieldRef, Related, Scalar } from '../../model/plan.ts'
import { valueField } from '../../model/plan-fields.ts'
import type { ValueOrder } from '../../model/value-order.ts'
import { orderOf } from '../../model/value-order.ts'
import type { RecordEntity } from '../entities.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { distinctOf, isRevised, type RevisedField } from './field-changes.ts'
import { RevisedColumn, revisedPostings } from './overlay-column.ts'
import { byRank, countRanks, inParts } from './ranks-in-order.ts'
import { type Column, type Postings, postingsIn, StoredColumn } from './stored-column.ts'
import { FileNumbers, MemoryNumbers, type Numbers, type Ranks, type StoredField } from './stored-field.ts'
import { jsonAt, openValues, type PackedValues, Packer, typedAt } from './values.ts'

/** Highlighted text counts without marks. @throws Error for relevance, which is made of several fields */
export function columnOf(scalar: Scalar): FieldRef {
  switch (scalar.kind) {
    case 'field':
    case 'highlight':
      return scalar.field
    default:
      throw new Error(`${scalar.kind} is known only of whole records`)
  }
}

export const indexOf = ({ fields }: RecordEntity, { name }: FieldRef): number =>
  fields.findIndex(field => field.name === name)

export const isDerived = ({ path, computed, related }: FieldRef): boolean =>
  path.length > 0 || computed !== undefined || related !== undefined

/** The source of the column from which a column is derived. */
export function baseOf(entity: RecordEntity, ref: FieldRef): FieldRef {
  const { name, path, computed, related } = ref
  if (related) return { name, path, type: valueField(related).type, related }
  const isMember = path.length > 0 && computed !== undefined
  const type = isMember ? 'json' : (entity.fields.find(field => field.name === name)?.type ?? 'json')
  return { name, path: isMember ? path : [], type }
}

/** Names a column within its entity. */
export function nameOf(entity: RecordEntity, ref: FieldRef): string {
  if (ref.related) return `${nameOfRelated(ref.related)} ${JSON.stringify([ref.computed])}`
  const at = `${indexOf(entity, ref)}`
  return isDerived(ref) ? `${at} ${JSON.stringify([ref.path, ref.computed])}` : at
}

/** Names a value of related records by the version of their entity, which the values depend on. */
const nameOfRelated = memo(({ fields, of }: Related): string => {
  const parts =
    'rows' in of ? [of.digest, of.value] : [(of.entity as RecordEntity).source.version, of.where, of.shape]
  return `related ${hash('sha256', JSON.stringify([fields, parts]), 'base64')}`
})

/** Names a part of a plan, with the name of related records in place of these, which may be large. */
export const jsonOfPlan = (part: unknown): string =>
  JSON.stringify(part, (key, value) => (key === 'related' && value ? nameOfRelated(value) : value))

interface ColumnType {
  readonly type: FieldType
  readonly collation: string | undefined
}

/** The type and collation by which the values of a column compare. */
export function typeOf(entity: RecordEntity, ref: FieldRef): ColumnType {
  if (ref.computed !== undefined) return { type: ref.type, collation: undefined }
  if (ref.related) {
    const { of } = ref.related
    const value = valueField(ref.related)
    return 'rows' in of
      ? { type: value.type, collation: undefined }
      : typeOf(of.entity as RecordEntity, value)
  }
  if (ref.path.length > 0) return { type: 'json', collation: undefined }
  const field = entity.fields[indexOf(entity, ref)]
  return { type: field?.type ?? ref.type, collation: field?.collation }
}

/** A column as one array: the number of distinct values, then the ranks and the starts. */
export type PackedColumn = Uint32Array<SharedArrayBuffer>

/** A column as threads are given it. */
export type GivenColumn = PackedColumn | StoredField | RevisedField

export const isPacked = (column: GivenColumn): column is PackedColumn => ArrayBuffer.isView(column)

export function distinctIn(column: GivenColumn): number {
  if (isPacked(column)) return column[0] as number
  return isRevised(column) ? distinctOf(column) : column.distinct
}

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
  if (!isPacked(given)) return isRevised(given) ? new RevisedColumn(given) : new StoredColumn(given)
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

/** The numbers of all records by rank, as threads are given them. */
export type GivenPostings = Uint32Array<SharedArrayBuffer> | StoredField | RevisedField

export function openPostings(given: GivenPostings, { starts }: Column): Postings {
  if (ArrayBuffer.isView(given)) return postingsIn(starts, new MemoryNumbers(given))
  return isRevised(given) ? revisedPostings(given) : postingsIn(starts, postingsOfFile(given))
}

export const postingsOfFile = ({ path, postings, count }: StoredField): Numbers =>
  new FileNumbers(path, postings, count)

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
 */
export function derive(
  base: GivenColumn,
  count: number,
  texts: PackedValues,
  type: FieldType,
): DerivedColumn {
  const { distinct, ranks } = openColumn(base, count)
  const given = openValues(texts, distinct)
  const order = orderOf({ type })
  const known = new Map<string, number>()
  const first: number[] = []
  const numbers = new Uint32Array(distinct + 1)
  for (let rank = 0; rank < distinct; rank++) {
    if ((rank & 0x3ff) === 0) mayGoOn()
    if (given.bytesAt(rank).length === 0) continue
    const key = order.key(typedAt(given, rank, type))
    const number = known.get(key) ?? first.push(rank)
    known.set(key, number)
    numbers[rank] = number
  }
  mayGoOn()
  return packDerived(ranks, numbers, [...known.keys()], order, at => jsonAt(given, first[at] as number))
}

/** A column whose values come from another one's, and these values. */
export interface DerivedColumn {
  readonly column: PackedColumn
  readonly values: PackedValues
}

/**
 * Packs a column that is derived from another one.
 * @param numbers for each rank of the other column, null's included, the number of the new value from 1; 0: null
 * @param keys of the new values, by which they are put in order
 * @param jsonAt returns the JSON of the value with the key at a place
 */
export function packDerived(
  ranks: Ranks,
  numbers: Uint32Array,
  keys: readonly string[],
  order: ValueOrder,
  jsonAt: (place: number) => string,
): DerivedColumn {
  const sorted = keys
    .map((_, at) => at)
    .sort((one, other) => order.compare(keys[one] as string, keys[other] as string))
  const rankOf = new Uint32Array(keys.length + 1)
  rankOf[0] = keys.length
  const packer = new Packer(keys.length)
  for (const [rank, at] of sorted.entries()) {
    rankOf[at + 1] = rank
    packer.add(jsonAt(at))
  }
  const derived = new Uint32Array(ranks.length)
  for (let n = 0; n < derived.length; n++)
    derived[n] = rankOf[numbers[ranks[n] as number] as number] as number
  return { column: packRanks(derived, keys.length), values: packer.finish() }
}

/** Makes columns of rows that were already read. @param rows a JSON array of arrays without nulls */
export function columnsOfRows(
  rows: string,
  types: readonly FieldType[],
): { count: number; columns: readonly { readonly column: PackedColumn; readonly values: PackedValues }[] } {
  const read = parseExact(rows) as readonly (readonly unknown[])[]
  const base = packRanks(
    Uint32Array.from(read, (_, at) => at),
    read.length,
  )
  const columns = types.map((type, at) => {
    const packer = new Packer(read.length)
    for (const row of read) packer.add(JSON.stringify(row[at]))
    return derive(base, read.length, packer.finish(), type)
  })
  return { count: read.length, columns }
}
