import type { FieldType } from '../../model/entities.ts'
import { computedValue, computing } from '../../model/functions/functions.ts'
import type { Computed } from '../../model/plan.ts'
import { orderOf } from '../../model/value-order.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { type DerivedColumn, type GivenColumn, openColumn, packDerived, packRanks } from './columns.ts'
import { Pairs } from './groups.ts'
import { numbersIn, openSelection, type PackedSelection } from './selections.ts'
import { noRank, type Translation } from './translate.ts'
import { type GivenValues, jsonAt, openValues, Packer, typedValue, valueAt } from './values.ts'

/** A column of values that are computed of another one's. */
interface ComputedTask {
  readonly base: GivenColumn
  readonly count: number
  readonly values: GivenValues
  /** The type of the new values. */
  readonly type: FieldType
  readonly computed: Computed
}

export function computedColumn(task: ComputedTask): DerivedColumn {
  const { distinct, ranks } = openColumn(task.base, task.count)
  const values = openValues(task.values, distinct)
  const compute = computing(task.computed)
  let written = 0
  // The text after a run was already read to find its end.
  let last: { readonly rank: number; readonly text: string | undefined } | undefined
  const textAt = (rank: number) => {
    if (last?.rank === rank) return last.text
    if ((written++ & 0xfff) === 0) mayGoOn()
    const text = compute(valueAt(values, rank))
    last = { rank, text }
    return text
  }
  const known = new Map<string, number>()
  /** For each rank, the number of its text from 1; 0: none. */
  const numbers = new Uint32Array(distinct + 1)
  const isGradual = distinct > 0 && computedValue(task.computed).isGradual(task.computed, valueAt(values, 0))
  const endOf = isGradual ? endOfText : nextRank
  for (let rank = 0; rank < distinct; ) {
    const text = textAt(rank)
    const end = text === undefined ? rank + 1 : endOf(rank, text, distinct, textAt)
    if (text !== undefined) {
      const number = known.get(text) ?? known.size + 1
      known.set(text, number)
      numbers.fill(number, rank, end)
    }
    rank = end
  }
  const texts = [...known.keys()]
  const order = orderOf(task)
  const keys = texts.map(text => order.key(typedValue(text, task.type)))
  return packDerived(ranks, numbers, keys, order, at => texts[at] as string)
}

const nextRank = (rank: number) => rank + 1

/** The rank after the last one with this text, which all ranks between have, too. */
function endOfText(rank: number, text: string, distinct: number, textAt: (rank: number) => unknown): number {
  let step = 1
  while (rank + step < distinct && textAt(rank + step) === text) step *= 2
  let [low, high] = [rank + (step >>> 1), Math.min(rank + step, distinct)]
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (textAt(middle) === text) low = middle
    else high = middle
  }
  return high
}

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
