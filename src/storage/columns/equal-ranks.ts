import { type FieldFacts, kindsOf } from './leaves.ts'
import { equalityKey } from './value-tests.ts'
import { valueAt } from './values.ts'

/**
 * Ranks follow the JSON of nested values, but objects are equal in any order of their members (Q20). For groups, equal values
 * count as the first of them.
 * @param facts of the field, with its values if it is JSON
 * @param tick called now and then; it may throw to stop
 */
export function withEqualRanks(facts: FieldFacts, tick: () => void): FieldFacts {
  const { type, values, column } = facts
  if (type !== 'json' || !values) return facts
  const firsts = new Map<string, number>()
  const others = new Map<number, number>()
  for (let rank = kindsOf(values).nested; rank < values.length; rank++) {
    if ((rank & 0xff) === 0) tick()
    const key = equalityKey(valueAt(values, rank))
    const first = firsts.get(key)
    if (first === undefined) firsts.set(key, rank)
    else others.set(rank, first)
  }
  if (others.size === 0) return facts
  return { ...facts, column: { ...column, ranks: column.ranks.map(rank => others.get(rank) ?? rank) } }
}
