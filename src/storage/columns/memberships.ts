import { mayGoOn } from '../runtime/limits.ts'
import { type GivenColumn, openColumn } from './columns.ts'
import { TupleSet } from './groups.ts'
import type { FieldFacts } from './leaves.ts'
import { complement, ranksIn } from './rank-sets.ts'
import { type Sought, soughtRanks } from './select.ts'
import { noBits, numbersIn, openSelection, type PackedSelection } from './selections.ts'
import { noRank, openElements, type Translation } from './translate.ts'

/** The condition that some fields have the values of a record of another selection (`in plan`, `in rows`). */
export interface Membership {
  readonly kind: 'member'
  /** The positions of the fields' facts. */
  readonly facts: readonly number[]
  readonly negated: boolean
  /** For each field, true if null differs from all values; if not, a record with null never matches. */
  readonly nullDiffers: readonly boolean[]
  /** Number of records of the inner version, and the selection of them; null: all. */
  readonly count: number
  readonly selection: PackedSelection | null
  /** For each field, the column of the inner one, and the translation of its ranks. */
  readonly inner: readonly {
    readonly column: GivenColumn
    readonly translation: Translation
    /** True if the values of the column are lists, and the translation is about their elements. */
    readonly isOfElements: boolean
  }[]
}

export function membersOf(
  { negated, nullDiffers, count, selection, inner }: Membership,
  outer: readonly FieldFacts[],
  outerCount: number,
): Sought {
  const numbers = numbersIn(selection ? openSelection(selection) : undefined, count)
  const columns = inner.map(({ column, translation, isOfElements }) => {
    const { distinct, ranks } = openColumn(column, count)
    return { distinct, ranks, translation, isOfElements }
  })
  const [only] = columns
  const [field] = outer
  if (columns.length === 1 && only && field) {
    const { distinct } = field.column
    const met = new Uint8Array(only.distinct + 1)
    for (let at = 0; at < numbers.length; at++) met[only.ranks[numbers[at] as number] as number] = 1
    const found = new Uint8Array(distinct)
    const taken = only.isOfElements ? elementsMet(met, only) : { ...only, met }
    eachPair(taken.translation, taken.distinct, (rank, outerRank) => {
      if (taken.met[rank] === 1) found[outerRank] = 1
    })
    const set = ranksIn(found)
    return soughtRanks(
      field.column,
      field.postings,
      negated ? complement(set, nullDiffers[0] ? distinct + 1 : distinct) : set,
    )
  }

  const tuples = new TupleSet(
    columns.map(({ distinct }) => distinct),
    numbers.length,
  )
  const tuple: number[] = []
  for (let at = 0; at < numbers.length; at++) {
    if ((at & 0xffff) === 0) mayGoOn()
    for (const [place, { ranks }] of columns.entries()) tuple[place] = ranks[numbers[at] as number] as number
    if (columns.every(({ distinct }, place) => tuple[place] !== distinct)) tuples.add(tuple)
  }
  const candidates = columns.map(({ translation, distinct }, place) =>
    candidatesIn(translation, distinct, outer[place]?.column.distinct ?? 0),
  )
  /** True if some tuple matches record n and begins with the ranks chosen for the places before. */
  const has = (place: number, n: number): boolean => {
    if (place === candidates.length) return tuples.has(tuple)
    const rank = outer[place]?.column.ranks[n] as number
    for (const candidate of candidates[place]?.(rank) ?? []) {
      tuple[place] = candidate
      if (has(place + 1, n)) return true
    }
    return false
  }
  const known = outer.filter((_, place) => !nullDiffers[place])
  const words = noBits(outerCount)
  let size = 0
  for (let n = 0; n < outerCount; n++) {
    if ((n & 0xfff) === 0) mayGoOn()
    if (known.some(({ column }) => column.ranks[n] === column.distinct) || has(0, n) === negated) continue
    words[n >>> 5] = (words[n >>> 5] as number) | (1 << (n & 31))
    size++
  }
  return { kind: 'records', selection: { kind: 'bits', words }, most: size }
}

/** Finds the elements of the lists that were met. @param met for each rank of a list, 1 if it was */
function elementsMet(
  met: Uint8Array,
  { distinct, translation }: { readonly distinct: number; readonly translation: Translation },
) {
  const elements = openElements(translation, distinct)
  const { starts, ranks } = elements
  const ofElements = new Uint8Array(elements.distinct + 1)
  for (let list = 0; list < distinct; list++) {
    if (met[list] !== 1) continue
    const end = starts[list + 1] as number
    for (let at = starts[list] as number; at < end; at++) ofElements[ranks[at] as number] = 1
  }
  return { ...elements, met: ofElements }
}

/** Calls `take` for each pair of an inner and an outer rank that match. */
function eachPair(
  translation: Uint32Array,
  distinct: number,
  take: (rank: number, outerRank: number) => void,
): void {
  for (let rank = 0; rank < distinct; rank++)
    if (translation[rank] !== noRank) take(rank, translation[rank] as number)
  for (let at = distinct + 1; at < translation.length; at += 2)
    take(translation[at] as number, translation[at + 1] as number)
}

/** Finds the inner ranks that match an outer rank; a list also matches its elements. */
function candidatesIn(
  translation: Translation,
  distinct: number,
  outerDistinct: number,
): (rank: number) => readonly number[] {
  const first = new Uint32Array(outerDistinct + 1).fill(noRank)
  const more = new Map<number, number[]>()
  eachPair(translation, distinct, (rank, outerRank) => {
    if (first[outerRank] === noRank) first[outerRank] = rank
    else {
      const known = more.get(outerRank)
      if (known) known.push(rank)
      else more.set(outerRank, [rank])
    }
  })
  return rank => {
    const one = first[rank] as number
    if (one === noRank) return []
    const others = more.get(rank)
    return others ? [one, ...others] : [one]
  }
}
