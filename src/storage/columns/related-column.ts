import { mayGoOn } from '../runtime/limits.ts'
import { type DerivedColumn, type GivenColumn, openColumn, packRanks } from './columns.ts'
import { Pairs } from './groups.ts'
import { numbersIn, openSelection, type PackedSelection } from './selections.ts'
import { noRank, type Translation } from './translate.ts'
import { type GivenValues, jsonAt, openValues, Packer } from './values.ts'

/** A column of a value that is read in related records (docs/decisions/0078). */
export interface RelatedTask {
  /** Number of the records, and the columns whose values identify a record of the other entity. */
  readonly count: number
  readonly outer: readonly GivenColumn[]
  /** Number of the records of the other entity, and the selection of them; null: all. */
  readonly others: number
  readonly selection: PackedSelection | null
  /** For each field, the column of the other entity, and the translation of its ranks. */
  readonly inner: readonly { readonly column: GivenColumn; readonly translation: Translation }[]
  readonly value: { readonly column: GivenColumn; readonly values: GivenValues }
}

export function relatedColumn(task: RelatedTask): DerivedColumn {
  const { count, others, selection, value } = task
  const outer = task.outer.map(column => openColumn(column, count))
  const inner = task.inner.map(({ column, translation }) => ({
    // A column that is read from a file has its ranks by a getter, which a spread would lose.
    ranks: openColumn(column, others).ranks,
    translation,
  }))
  const wanted = openColumn(value.column, others)
  const numbers = numbersIn(selection ? openSelection(selection) : undefined, others)
  const [first, ...rest] = outer.map(({ distinct }) => distinct)
  const pairs = rest.map(distinct => new Pairs(distinct + 1, numbers.length))
  /** The rank of the value for each tuple of ranks; a single rank is its own number. */
  const known = new Uint32Array(rest.length === 0 ? (first ?? 0) + 1 : numbers.length).fill(wanted.distinct)
  const tuple: number[] = []
  for (let at = 0; at < numbers.length; at++) {
    if ((at & 0xffff) === 0) mayGoOn()
    const n = numbers[at] as number
    for (const [place, { ranks, translation }] of inner.entries())
      tuple[place] = translation[ranks[n] as number] as number
    if (tuple.includes(noRank)) continue
    let number = tuple[0] as number
    for (const [place, one] of pairs.entries()) number = one.add(number, tuple[place + 1] as number)
    known[number] = wanted.ranks[n] as number
  }
  const found = new Uint32Array(count).fill(wanted.distinct)
  const isFound = new Uint8Array(wanted.distinct + 1)
  for (let n = 0; n < count; n++) {
    if ((n & 0xffff) === 0) mayGoOn()
    let number = outer[0]?.ranks[n] as number
    for (const [place, one] of pairs.entries())
      if (number >= 0) number = one.find(number, outer[place + 1]?.ranks[n] as number)
    if (number < 0) continue
    const rank = known[number] as number
    found[n] = rank
    isFound[rank] = 1
  }
  return packFound(found, isFound, wanted.distinct, value.values)
}

/** Leaves out the values that no record has, so that those left have ranks without gaps, in their order. */
function packFound(
  found: Uint32Array,
  isFound: Uint8Array,
  distinct: number,
  given: GivenValues,
): DerivedColumn {
  const values = openValues(given, distinct)
  const rankOf = new Uint32Array(distinct + 1)
  let size = 0
  for (let rank = 0; rank < distinct; rank++) if (isFound[rank] === 1) rankOf[rank] = size++
  rankOf[distinct] = size
  const packer = new Packer(size)
  for (let rank = 0; rank < distinct; rank++) if (isFound[rank] === 1) packer.add(jsonAt(values, rank))
  return {
    column: packRanks(
      found.map(rank => rankOf[rank] as number),
      size,
    ),
    values: packer.finish(),
  }
}
