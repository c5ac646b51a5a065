import { Edited, lastUpTo, type PackedEdits, unpackParts } from './edits.ts'
import { StoredColumn } from './stored-column.ts'
import type { StoredField } from './stored-field.ts'

/**
 * A field of a version with changes of single records (docs/decisions/0041): the file of its base, and what the
 * changes make different. Its ranks are those that an import of the same records would have: values that no
 * record has any more leave no gap.
 */
export interface RevisedField {
  readonly base: StoredField
  readonly changes: PackedChanges
}

/** The parts of `FieldChanges`, in memory that threads share. */
export type PackedChanges = Uint32Array<SharedArrayBuffer>

export interface FieldChanges {
  /** Edits of the records, in the order of the key. */
  readonly records: Edited
  /** Edits of the distinct values, by rank. A value is replaced where its first record writes it otherwise. */
  readonly values: Edited
  /** The rank of each written record. */
  readonly ranks: Uint32Array
  /** The number of each written record, as the file of the base has them; undefined if it has none that fit. */
  readonly amounts: Int32Array | undefined
  /** The written values as JSON, in the order of their ranks, and where each starts. */
  readonly starts: Uint32Array
  readonly json: Buffer
  /** True if a double holds each of them exactly. */
  readonly areDoubles: boolean
  /** How many more records have a rank of the base below `rank`. */
  moreBefore(rank: number): number
  /** How many records have one of the first `edits` new values. */
  newBefore(edits: number): number
}

export const isRevised = (given: object): given is RevisedField => 'changes' in given

/** Number of distinct values. */
export const distinctOf = ({ changes }: RevisedField): number =>
  (unpackParts(changes) as ChangesParts)[1][1] as number

export function openChanges({ changes }: RevisedField): FieldChanges {
  const [records, values, ranks, amounts, starts, bytes, touched, more, added, areDoubles] = unpackParts(
    changes,
  ) as ChangesParts
  return {
    records: new Edited(records),
    values: new Edited(values),
    ranks,
    amounts:
      amounts.length < ranks.length
        ? undefined
        : new Int32Array(amounts.buffer, amounts.byteOffset, amounts.length),
    starts,
    json: Buffer.from(bytes.buffer, bytes.byteOffset, starts.at(-1)),
    areDoubles: areDoubles[0] === 1,
    moreBefore: rank => (more[lastUpTo(touched, rank - 1) + 1] as number) | 0,
    newBefore: edits => added[edits] as number,
  }
}

/** True if no record comes or goes, and each that was written has the value that it had. */
export function isUnchanged(field: RevisedField): boolean {
  const { records, values, ranks } = openChanges(field)
  const rankOf = new StoredColumn(field.base).reader(ranks.length)
  return values.replaces(() => false) && records.replaces((n, item) => rankOf(n) === ranks[item])
}

/** What `packParts` makes `PackedChanges` of. */
export type ChangesParts = [
  records: PackedEdits,
  values: PackedEdits,
  ranks: Uint32Array,
  /** Whole numbers of 32 bits; empty: they don't fit. */
  amounts: Uint32Array,
  starts: Uint32Array,
  bytes: Uint32Array,
  /** Ranks of the base that other records have now; and how many more, or fewer, the first n of them have. */
  touched: Uint32Array,
  more: Uint32Array,
  /** The number of records that have a value which is new, among the first n edits of values. */
  added: Uint32Array,
  /** 1: doubles hold the written values exactly. */
  areDoubles: Uint32Array,
]
