import { sharedNumbers } from './columns.ts'
import { type FieldFacts, orderIn } from './leaves.ts'
import { equalityKey } from './value-tests.ts'
import { type Values, valueAt } from './values.ts'

/** Where a value of the inner field is none of the outer one's. */
export const noRank = 0xffff_ffff

export type Translated = Pick<FieldFacts, 'type' | 'collation'> & { readonly values: Values }

/**
 * For each rank of one field, the rank that the same value has in another; `noRank` where it has none, and for null, which
 * comes last.
 * @param tick called now and then; it may throw to stop
 */
export function translate(
  inner: Translated,
  outer: Translated,
  tick: () => void,
): Uint32Array<SharedArrayBuffer> {
  const table = sharedNumbers(inner.values.length + 1).fill(noRank)
  const [innerKeys, outerKeys] = [keysOf(inner, outer), keysOf(outer, inner)]
  const isInOrder = (one: Translated) => one.collation === undefined && one.type !== 'json'
  if (isInOrder(inner) && isInOrder(outer) && inner.type === outer.type) {
    merge(inner.values.length, innerKeys, outer.values.length, outerKeys, table, tick)
    return table
  }
  const isInnerSmaller = inner.values.length <= outer.values.length
  const [small, smallKeys] = isInnerSmaller ? [inner.values, innerKeys] : [outer.values, outerKeys]
  const [large, largeKeys] = isInnerSmaller ? [outer.values, outerKeys] : [inner.values, innerKeys]
  const places = new Map<string, number>()
  for (let rank = 0; rank < small.length; rank++) {
    if ((rank & 0xfff) === 0) tick()
    places.set(smallKeys(rank), rank)
  }
  for (let rank = 0; rank < large.length; rank++) {
    if ((rank & 0xfff) === 0) tick()
    const found = places.get(largeKeys(rank))
    if (found === undefined) continue
    if (isInnerSmaller) table[found] = rank
    else table[rank] = found
  }
  return table
}

/** Both sides are in the order of their keys. */
function merge(
  inner: number,
  innerKeys: (rank: number) => string,
  outer: number,
  outerKeys: (rank: number) => string,
  table: Uint32Array,
  tick: () => void,
): void {
  let at = 0
  let other = outer > 0 ? outerKeys(0) : ''
  for (let rank = 0; rank < inner && at < outer; rank++) {
    if ((rank & 0xfff) === 0) tick()
    const key = innerKeys(rank)
    while (other < key && ++at < outer) other = outerKeys(at)
    if (at < outer && other === key) table[rank] = at
  }
}

/** Keys that are equal where the values are: fields of one type by that, others as JSON, by kind and value. */
function keysOf(field: Translated, other: Pick<Translated, 'type'>): (rank: number) => string {
  const type = field.type === other.type ? field.type : 'json'
  if (type === 'json') return rank => equalityKey(valueAt(field.values, rank))
  const order = orderIn({ type, collation: undefined })
  return rank => order.key(valueAt(field.values, rank))
}
