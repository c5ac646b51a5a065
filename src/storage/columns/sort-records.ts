import { release, sharedNumbers } from '../../lib/memory.ts'
import { summedUp } from './ranks-in-order.ts'
import type { Ranks } from './stored-field.ts'

/**
 * The ranks of a field by which records are sorted (docs/decisions/0003): for each record, the rank of its
 * value among the distinct ones, nulls last. Sorting by any fields is then a few stable counting sorts of
 * small integers. It costs the same for text, numbers and nulls, and needs no index for each order.
 */
interface SortField {
  readonly ranks: Ranks
  readonly descending: boolean
}

/**
 * @param count number of records; their numbers follow the key
 * @param fields the first is the most significant
 * @returns the record numbers in that order, in memory that threads share; ties are in the order of the key
 */
export function sortRecords(count: number, fields: readonly SortField[]): Uint32Array<SharedArrayBuffer> {
  const numbers = sharedNumbers(count)
  for (let n = 0; n < count; n++) numbers[n] = n
  return countingSorts(numbers, fields)
}

/**
 * Sorts some of the records.
 * @param numbers of the records, in the order of the key; they may be overwritten
 */
export const sortNumbers = (
  numbers: Uint32Array<SharedArrayBuffer>,
  fields: readonly SortField[],
): Uint32Array<SharedArrayBuffer> =>
  numbers.length <= few ? numbers.sort(comparison(fields)) : countingSorts(numbers, fields)

/** Sorts in place, so that no memory which threads share is left to be collected. */
function countingSorts(numbers: Uint32Array<SharedArrayBuffer>, fields: readonly SortField[]) {
  const other = new Uint32Array(numbers.length)
  let [from, to]: [Uint32Array, Uint32Array] = [numbers, other]
  if (fields.length % 2 === 1) {
    other.set(numbers)
    ;[from, to] = [to, from]
  }
  // The least significant field first: a stable sort keeps the order of equal values from earlier passes.
  for (const field of fields.toReversed()) {
    countingSort(from, to, field)
    ;[from, to] = [to, from]
  }
  release(other)
  return numbers
}

/** Maximum number of records sorted by comparison; a counting sort passes over all ranks of a field. */
const few = 1_024

const comparison = (fields: readonly SortField[]) => (one: number, other: number) => {
  for (const { ranks, descending } of fields) {
    const difference = (ranks[one] as number) - (ranks[other] as number)
    if (difference !== 0) return descending ? -difference : difference
  }
  return one - other
}

/** Sorts a few records. @param fields a function that reads the rank of a record, the most significant first */
export function sortFew(
  numbers: Uint32Array,
  fields: readonly { readonly rankOf: (n: number) => number; readonly descending: boolean }[],
): Uint32Array {
  const places = sharedNumbers(numbers.length)
  for (let at = 0; at < places.length; at++) places[at] = at
  const order = fields.map(({ rankOf, descending }) => ({ ranks: numbers.map(rankOf), descending }))
  return sortNumbers(places, order).map(place => numbers[place] as number)
}

/** All indexes are within bounds, so the casts to `number` are safe. */
function countingSort(from: Uint32Array, to: Uint32Array, { ranks, descending }: SortField): void {
  const count = from.length
  const isAll = count === ranks.length
  let maxRank = 0
  for (let at = 0; at < count; at++) {
    const rank = ranks[isAll ? at : (from[at] as number)] as number
    if (rank > maxRank) maxRank = rank
  }
  // Descending inverts ranks, not the result: equal values keep the order of the later fields and the key.
  const [base, sign] = descending ? [maxRank, -1] : [0, 1]
  const starts = new Uint32Array(maxRank + 2)
  for (let at = 0; at < count; at++) {
    const next = base + sign * (ranks[isAll ? at : (from[at] as number)] as number) + 1
    starts[next] = (starts[next] as number) + 1
  }
  summedUp(starts)
  for (let at = 0; at < count; at++) {
    const n = from[at] as number
    const rank = base + sign * (ranks[n] as number)
    const target = starts[rank] as number
    to[target] = n
    starts[rank] = target + 1
  }
  release(starts)
}
