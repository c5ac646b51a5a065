import { openColumn, type PackedColumn } from './columns.ts'
import type { FieldFacts } from './leaves.ts'
import { complement, ranksOf } from './rank-sets.ts'
import { type Sought, soughtRanks } from './select.ts'
import { noBits, numbersIn, openSelection, type PackedSelection } from './selections.ts'
import { noRank } from './translate.ts'
import { TupleSet } from './tuples.ts'

/** Whether the values of some fields are those of a record of another selection (`in plan`). */
export interface Membership {
  readonly kind: 'member'
  /** The numbers of the facts of the fields. */
  readonly facts: readonly number[]
  readonly negated: boolean
  /** How many records the inner version has, and which of them are meant; null: all. */
  readonly count: number
  readonly selection: PackedSelection | null
  /** For each field, the column of the inner one, and the ranks of the outer one by those of the inner. */
  readonly inner: readonly { readonly column: PackedColumn; readonly translation: Uint32Array }[]
}

export function membersOf(
  { negated, count, selection, inner }: Membership,
  outer: readonly FieldFacts[],
  outerCount: number,
  tick: () => void,
): Sought {
  const numbers = numbersIn(selection ? openSelection(selection) : undefined, count)
  const columns = inner.map(({ column, translation }) => ({ ...openColumn(column, count), translation }))
  const [only] = columns
  const [field] = outer
  if (columns.length === 1 && only && field) {
    const { distinct } = field.column
    // The place behind all values takes what the outer field doesn't have, and null.
    const found = new Uint8Array(distinct + 1)
    const { ranks, translation } = only
    const met = new Uint8Array(only.distinct + 1)
    for (let at = 0; at < numbers.length; at++) met[ranks[numbers[at] as number] as number] = 1
    for (let rank = 0; rank < only.distinct; rank++)
      if (met[rank] === 1) found[translation[rank] === noRank ? distinct : (translation[rank] as number)] = 1
    for (let at = only.distinct + 1; at < translation.length; at += 2)
      if (met[translation[at] as number] === 1) found[translation[at + 1] as number] = 1
    const set = ranksOf(marked(found.subarray(0, distinct)))
    return soughtRanks(field.column, field.postings, negated ? complement(set, distinct) : set)
  }
  const sizes = outer.map(({ column }) => column.distinct)
  const tuples = new TupleSet(sizes, numbers.length)
  const tuple: number[] = []
  for (let at = 0; at < numbers.length; at++) {
    if ((at & 0xffff) === 0) tick()
    const n = numbers[at] as number
    for (const [place, { ranks, translation }] of columns.entries())
      tuple[place] = translation[ranks[n] as number] as number
    if (!tuple.includes(noRank)) tuples.add(tuple)
  }
  const words = noBits(outerCount)
  let size = 0
  for (let n = 0; n < outerCount; n++) {
    if ((n & 0xffff) === 0) tick()
    let hasNull = false
    for (const [place, { column }] of outer.entries()) {
      tuple[place] = column.ranks[n] as number
      hasNull ||= tuple[place] === column.distinct
    }
    if (hasNull || tuples.has(tuple) === negated) continue
    words[n >>> 5] = (words[n >>> 5] as number) | (1 << (n & 31))
    size++
  }
  return { kind: 'records', selection: { kind: 'bits', words }, most: size }
}

function* marked(table: Uint8Array): Iterable<number> {
  for (let rank = table.indexOf(1); rank >= 0; rank = table.indexOf(1, rank + 1)) yield rank
}
