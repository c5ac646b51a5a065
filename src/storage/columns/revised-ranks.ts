import type { Place } from './look-up.ts'

/** Where a record of a new version comes from: the number that it has in the old one, or below 0, ~n for change n. */
export type Origins = Int32Array

/** What a changed record has in a field: null, a value of the old version by its rank, or a value of its own. */
export type NewValue = null | { readonly place: Place; readonly key: string }

export interface FieldRanks {
  readonly ranks: Uint32Array
  /** How many distinct values there are; records without a value have this rank. */
  readonly distinct: number
}

/**
 * The ranks of a new version, as dense as those of an import: values that no record has any more leave no gap, and new ones
 * get a rank between their neighbours.
 * @param values of the changes
 * @param compare the keys of values that are not in the old version
 */
export function revisedRanks(
  old: FieldRanks,
  origins: Origins,
  values: readonly NewValue[],
  compare: (one: string, other: string) => number,
): FieldRanks {
  // What is used: the ranks of the records that stay, and of changes that have an old value.
  const isUsed = new Uint8Array(old.distinct + 1)
  for (let n = 0; n < origins.length; n++) {
    const origin = origins[n] as number
    if (origin >= 0) isUsed[old.ranks[origin] as number] = 1
  }
  for (const value of values) if (value?.place.isThere) isUsed[value.place.at] = 1
  const added = values
    .filter(value => value !== null)
    .filter(({ place }) => !place.isThere)
    .sort((one, other) => one.place.at - other.place.at || compare(one.key, other.key))
  const ranks = new Uint32Array(old.distinct + 1)
  const rankOfAdded = new Map<string, number>()
  let next = 0
  let last: string | undefined
  let at = 0
  for (let rank = 0; rank <= old.distinct; rank++) {
    // New values come before the old one whose place they were looked up at.
    for (; added[at]?.place.at === rank; at++) {
      const key = added[at]?.key as string
      if (key === last) continue
      rankOfAdded.set(key, next++)
      last = key
    }
    if (rank === old.distinct) ranks[rank] = next
    else if (isUsed[rank] === 1) ranks[rank] = next++
  }
  const found = new Uint32Array(origins.length)
  const rankOf = (value: NewValue | undefined) => {
    if (!value) return next
    return value.place.isThere ? (ranks[value.place.at] as number) : (rankOfAdded.get(value.key) ?? next)
  }
  const rankOfChange = values.map(rankOf)
  for (let n = 0; n < origins.length; n++) {
    const origin = origins[n] as number
    found[n] =
      origin >= 0 ? (ranks[old.ranks[origin] as number] as number) : (rankOfChange[~origin] as number)
  }
  return { ranks: found, distinct: next }
}
