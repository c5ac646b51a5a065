import { sharedNumbers } from '../../lib/memory.ts'
import { canonicalJson } from '../../model/json-values.ts'
import { orderOf } from '../../model/value-order.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { type FieldFacts, kindsOf } from './leaves.ts'
import { findPlace, readsOfLookup } from './look-up.ts'
import type { Values } from './stored-values.ts'
import { MemoryValues, Packer, typedAt, valueAt } from './values.ts'

/** Stands in for the rank of a value that the outer field doesn't have. */
export const noRank = 0xffff_ffff

export type Translated = Pick<FieldFacts, 'type' | 'collation'> & {
  readonly isList: boolean
  /** True if each value is a list, whose elements are compared in its place, as the inner side. */
  readonly isOfElements: boolean
  readonly values: Values
}

/**
 * If the inner field has elements, the elements of each list come first (see `openElements`). After them, or alone,
 * for each rank of the inner field, null's last, the rank of the same value in the outer one, or `noRank` for
 * none and for null. If the outer field has lists, pairs of ranks follow: a value, and a list with it.
 */
export type Translation = Uint32Array<SharedArrayBuffer>

export function translate(inner: Translated, outer: Translated): Translation {
  if (!inner.isOfElements) return translated(inner, outer)
  const { lists, elements } = elementsOf(inner.values)
  const table = translated({ ...inner, values: elements }, outer)
  const shared = sharedNumbers(1 + lists.length + table.length)
  shared[0] = elements.length
  shared.set(lists, 1)
  shared.set(table, 1 + lists.length)
  return shared
}

/** The elements of an inner field, each with a rank of its own. */
interface Elements {
  /** Number of different elements. */
  readonly distinct: number
  /** For each rank of a list, and the end, the position of its first element in `ranks`. */
  readonly starts: Uint32Array
  /** The ranks of the elements of all lists. */
  readonly ranks: Uint32Array
  /** The translation of these ranks. */
  readonly translation: Uint32Array
}

/** @param lists number of different lists of the field */
export function openElements(packed: Translation, lists: number): Elements {
  const starts = packed.subarray(1, lists + 2)
  const end = lists + 2 + (starts[lists] as number)
  return {
    distinct: packed[0] as number,
    starts,
    ranks: packed.subarray(lists + 2, end),
    translation: packed.subarray(end),
  }
}

/** Takes lists apart. @returns the starts and ranks of `Elements`, and the different elements as values */
function elementsOf(values: Values): { lists: Uint32Array; elements: Values } {
  const known = new Map<string, number>()
  const json: string[] = []
  const starts = new Uint32Array(values.length + 1)
  const ranks: number[] = []
  for (let rank = 0; rank < values.length; rank++) {
    if ((rank & 0xff) === 0) mayGoOn()
    for (const element of valueAt(values, rank) as readonly unknown[]) {
      const key = canonicalJson(element)
      const number = known.get(key) ?? known.size
      if (number === known.size) {
        known.set(key, number)
        json.push(JSON.stringify(element))
      }
      ranks.push(number)
    }
    starts[rank + 1] = ranks.length
  }
  const lists = new Uint32Array(starts.length + ranks.length)
  lists.set(starts)
  for (const [at, rank] of ranks.entries()) lists[starts.length + at] = rank
  const packer = new Packer(json.length)
  for (const one of json) packer.add(one)
  return { lists, elements: new MemoryValues(packer.finish(), json.length) }
}

function translated(inner: Translated, outer: Translated): Translation {
  const table = new Uint32Array(inner.values.length + 1).fill(noRank)
  const pairs = outer.isList ? elementPairs(inner, outer) : []
  const isPlain = orderKind(inner) === orderKind(outer) && inner.type !== 'json'
  if (isPlain && inner.values.length * readsOfLookup < outer.values.length) lookUp(inner, outer, table)
  else if (isPlain && inner.collation === undefined && outer.collation === undefined)
    merge(inner, outer, table)
  else join(inner, outer, table)
  const shared = sharedNumbers(table.length + pairs.length)
  shared.set(table)
  shared.set(pairs, table.length)
  return shared
}

/** Integers and other numbers have one order. */
const orderKind = ({ type }: Pick<Translated, 'type'>) => (type === 'integer' ? 'number' : type)

/** Looks up each value of an inner field that has few. */
function lookUp(inner: Translated, outer: Translated, table: Uint32Array): void {
  const order = orderOf(outer)
  for (let rank = 0; rank < inner.values.length; rank++) {
    if ((rank & 0xff) === 0) mayGoOn()
    const key = order.key(typedAt(inner.values, rank, inner.type))
    const place = findPlace(outer.values.length, at =>
      order.compare(order.key(typedAt(outer.values, at, outer.type)), key),
    )
    if (place.isThere) table[rank] = place.at
  }
}

/** Merges two fields that have the same order. */
function merge(inner: Translated, outer: Translated, table: Uint32Array): void {
  const [innerKey, outerKey] = [keysOf(inner, outer), keysOf(outer, inner)]
  const end = outer.values.length
  let at = 0
  let other = end > 0 ? outerKey(0) : ''
  for (let rank = 0; rank < inner.values.length && at < end; rank++) {
    if ((rank & 0xfff) === 0) mayGoOn()
    const key = innerKey(rank)
    while (other < key && ++at < end) other = outerKey(at)
    if (at < end && other === key) table[rank] = at
  }
}

/** Joins any two fields, with the keys of the smaller one in memory. */
function join(inner: Translated, outer: Translated, table: Uint32Array): void {
  const isInnerSmaller = inner.values.length <= outer.values.length
  const [small, large] = isInnerSmaller ? [inner, outer] : [outer, inner]
  const smallKey = keysOf(small, large)
  const largeKey = keysOf(large, small)
  const places = new Map<string, number>()
  for (let rank = 0; rank < small.values.length; rank++) {
    if ((rank & 0xfff) === 0) mayGoOn()
    places.set(smallKey(rank), rank)
  }
  for (let rank = 0; rank < large.values.length; rank++) {
    if ((rank & 0xfff) === 0) mayGoOn()
    const found = places.get(largeKey(rank))
    if (found === undefined) continue
    if (isInnerSmaller) table[found] = rank
    else table[rank] = found
  }
}

/** Finds the lists of the outer field that contain a value of the inner one. */
function elementPairs(inner: Translated, outer: Translated): number[] {
  const { values } = outer
  const arrays = new Map<string, number[]>()
  for (let rank = kindsOf(values).nested; rank < values.length; rank++) {
    if ((rank & 0xff) === 0) mayGoOn()
    const value = valueAt(values, rank)
    if (!Array.isArray(value)) continue
    for (const key of new Set(value.filter(one => one !== null).map(canonicalJson))) {
      const known = arrays.get(key)
      if (known) known.push(rank)
      else arrays.set(key, [rank])
    }
  }
  if (arrays.size === 0) return []
  const innerKey = keysOf(inner, outer)
  const pairs: number[] = []
  for (let rank = 0; rank < inner.values.length; rank++) {
    if ((rank & 0xfff) === 0) mayGoOn()
    for (const array of arrays.get(innerKey(rank)) ?? []) pairs.push(rank, array)
  }
  return pairs
}

/** Returns keys that are equal if the values are: by the type of both, or as JSON, by kind and value. */
function keysOf(field: Translated, other: Pick<Translated, 'type'>): (rank: number) => string {
  const type = orderKind(field) === orderKind(other) ? field.type : 'json'
  // A field of text may hold other values, which count as their JSON.
  if (type === 'json' && field.type === 'text')
    return rank => canonicalJson(typedAt(field.values, rank, 'text'))
  if (type === 'json') return rank => canonicalJson(valueAt(field.values, rank))
  const order = orderOf({ type })
  return rank => order.key(typedAt(field.values, rank, field.type))
}
