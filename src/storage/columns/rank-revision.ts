import { sharedNumbers } from '../../lib/memory.ts'
import type { ValueOrder } from '../../model/value-order.ts'
import { type PackedColumn, packRanks, unpackColumn } from './columns.ts'
import type { Edit } from './edits.ts'
import type { Place } from './look-up.ts'

/** For each record of a new version, its number in the old one, or ~n (below 0) for written record n. */
export type Origins = Int32Array

/** The value of a written record: its place in the old version, and a key to sort values that are new. */
export type NewValue = null | { readonly place: Place; readonly key: string }

export interface FieldRanks {
  readonly ranks: Uint32Array
  /** Number of distinct values; records without a value have this rank. */
  readonly distinct: number
}

/** Makes new values. Those that the version lacks get keys that sort in their order. */
export function newValues(
  keys: readonly (string | null)[],
  places: ReadonlyMap<string, Place>,
  order: ValueOrder,
): NewValue[] {
  const added = [...new Set(keys)].filter((key): key is string => key !== null && !places.get(key)?.isThere)
  added.sort(order.compare)
  const names = new Map(added.map((key, at) => [key, String(at).padStart(10, '0')]))
  return keys.map(key =>
    key === null ? null : { place: places.get(key) as Place, key: names.get(key) ?? '' },
  )
}

/** @param count number of records before the edits */
export function originsOf(count: number, edits: readonly Edit[]): Origins {
  const origins = new Int32Array(count + edits.length)
  let length = 0
  let next = 0
  const keepUntil = (end: number) => {
    for (; next < end; next++) origins[length++] = next
  }
  for (const { at, isThere, written } of edits) {
    keepUntil(at)
    if (isThere) next++
    if (written >= 0) origins[length++] = ~written
  }
  keepUntil(count)
  return origins.subarray(0, length)
}

/**
 * Applies edits to a column, in one pass over values and one over records. It stays as dense as that of an
 * import: values that no record has any more leave no gap, and new ones rank between their neighbors.
 * @param values of the written records; keys sort as the values do
 */
export function revisedColumn(
  packed: PackedColumn,
  count: number,
  edits: readonly Edit[],
  values: readonly NewValue[],
): PackedColumn {
  const before = unpackColumn(packed, count)
  const { distinct } = before
  const sizes = new Int32Array(distinct + 1)
  for (const { at, isThere } of edits) if (isThere) gain(sizes, before.ranks[at] as number, -1)
  for (const value of values)
    if (value === null) gain(sizes, distinct, 1)
    else if (value.place.isThere) gain(sizes, value.place.at, 1)
  const added = addedValues(values)
  let used = added.length
  for (let rank = 0; rank < distinct; rank++) if (sizeOf(before, rank) + (sizes[rank] as number) > 0) used++

  const newCount = edits.reduce(
    (sum, { isThere, written }) => sum - Number(isThere) + Number(written >= 0),
    count,
  )
  const made = sharedNumbers(1 + newCount + used + 2)
  made[0] = used
  const { ranks, starts } = unpackColumn(made, newCount)
  /** The new rank of each old one. */
  const moved = new Uint32Array(distinct + 1)
  const rankOfAdded = new Map<string, number>()
  let next = 0
  let start = 0
  let at = 0
  for (let rank = 0; rank <= distinct; rank++) {
    for (let one = added[at]; one?.at === rank; one = added[++at]) {
      rankOfAdded.set(one.key, next)
      starts[next++] = start
      start += one.size
    }
    const size = sizeOf(before, rank) + (sizes[rank] as number)
    moved[rank] = next
    if (size === 0 && rank < distinct) continue
    starts[next++] = start
    start += size
  }
  starts[next] = start

  const rankOf = (value: NewValue | undefined): number => {
    if (!value) return used
    return value.place.isThere ? (moved[value.place.at] as number) : (rankOfAdded.get(value.key) ?? used)
  }
  let length = 0
  let from = 0
  const keepUntil = (end: number) => {
    for (; from < end; from++) ranks[length++] = moved[before.ranks[from] as number] as number
  }
  for (const { at: place, isThere, written } of edits) {
    keepUntil(place)
    if (isThere) from++
    if (written >= 0) ranks[length++] = rankOf(values[written])
  }
  keepUntil(count)
  return made
}

/** Applies edits to a field of which only the ranks are known. */
export function revisedRanks(
  old: FieldRanks,
  edits: readonly Edit[],
  values: readonly NewValue[],
): FieldRanks {
  const packed = revisedColumn(packRanks(old.ranks, old.distinct), old.ranks.length, edits, values)
  const [distinct = 0] = packed
  return { distinct, ranks: unpackColumn(packed, packed.length - distinct - 3).ranks }
}

const gain = (sizes: Int32Array, rank: number, by: number): void => {
  sizes[rank] = (sizes[rank] as number) + by
}

const sizeOf = ({ starts }: ReturnType<typeof unpackColumn>, rank: number): number =>
  (starts[rank + 1] as number) - (starts[rank] as number)

/** Values that no record had before, in order, each with the first written record that has it. */
export function addedValues(values: readonly NewValue[]) {
  const added = new Map<string, { readonly at: number; readonly key: string; first: number; size: number }>()
  for (const [first, value] of values.entries()) {
    if (!value || value.place.isThere) continue
    const known = added.get(value.key)
    if (known) known.size++
    else added.set(value.key, { at: value.place.at, key: value.key, first, size: 1 })
  }
  return [...added.values()].sort((one, other) => one.at - other.at || (one.key < other.key ? -1 : 1))
}

/** @param slots of the records before; null: their numbers @param written slots of the written records */
export function revisedSlots(
  slots: Uint32Array | null,
  count: number,
  edits: readonly Edit[],
  written: readonly number[],
): Uint32Array<SharedArrayBuffer> {
  const origins = originsOf(count, edits)
  const found = sharedNumbers(origins.length)
  for (let n = 0; n < origins.length; n++) {
    const origin = origins[n] as number
    found[n] = origin < 0 ? (written[~origin] as number) : slots ? (slots[origin] as number) : origin
  }
  return found
}
