import { numberText } from '../../lib/json-text.ts'
import { binaryText, decimalKey, instant } from '../../lib/sort-keys.ts'
import { canonicalJson, comparisons } from '../../model/json-values.ts'
import type { Condition } from '../../model/plan.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { type FieldFacts, required } from './leaves.ts'
import type { Sought } from './select.ts'
import { noBits } from './selections.ts'
import { typedAt, valueAt } from './values.ts'

type Compared = Extract<Condition, { kind: 'fields' }>

/** A comparison of two fields, which are positions in `facts`. */
export interface FieldsNode extends Pick<Compared, 'kind' | 'operator' | 'negated'> {
  readonly facts: readonly [number, number]
}

/**
 * Compares the values of two fields in each record: each distinct value gets a number that compares like it.
 */
export function comparedFields(
  { operator, negated }: FieldsNode,
  facts: readonly FieldFacts[],
  count: number,
): Sought {
  const [first, second] = numbersOf(operator, facts)
  const [one, other] = facts.map(({ column }) => column)
  if (!first || !second || !one || !other) throw new Error('two fields are compared')
  const holds = comparisons[operator]
  const words = noBits(count)
  let size = 0
  const [ranks, otherRanks] = [one.ranks, other.ranks]
  for (let n = 0; n < count; n++) {
    if ((n & 0xffff) === 0) mayGoOn()
    const [rank, otherRank] = [ranks[n] as number, otherRanks[n] as number]
    if (rank === one.distinct || otherRank === other.distinct) continue
    // What has no order is NaN, and so is every difference from it.
    if (holds((first[rank] as number) - (second[otherRank] as number)) === negated) continue
    words[n >>> 5] = (words[n >>> 5] as number) | (1 << (n & 31))
    size++
  }
  return { kind: 'records', selection: { kind: 'bits', words }, most: size }
}

function numbersOf(operator: Compared['operator'], facts: readonly FieldFacts[]): readonly Float64Array[] {
  const types = new Set(facts.map(({ type }) => (type === 'integer' ? 'number' : type)))
  const doubles = types.size === 1 && types.has('number') ? facts.map(allDoubles) : []
  const known = doubles.flatMap(one => one ?? [])
  if (known.length === facts.length && known.length > 0) return known
  const isOfNumbers = types.has('number') || operator !== '='
  const keys = facts.map(one => keysOf(one, types.has('json'), isOfNumbers && operator !== '='))
  const sorted = [...new Set(keys.flat().filter(key => key !== undefined))].sort()
  const places = new Map(sorted.map((key, at) => [key, at]))
  return keys.map(all =>
    Float64Array.from(all, key => (key === undefined ? Number.NaN : (places.get(key) as number))),
  )
}

const allDoubles = (facts: FieldFacts): Float64Array | undefined =>
  required(facts).doubles(0, facts.column.distinct)

/** @param isJson true if one of both fields is JSON @param isOrder true if only numbers of JSON compare */
function keysOf(facts: FieldFacts, isJson: boolean, isOrder: boolean): readonly (string | undefined)[] {
  const values = required(facts)
  return Array.from({ length: facts.column.distinct }, (_, rank) => {
    if ((rank & 0xfff) === 0) mayGoOn()
    if (isJson && !isOrder)
      return canonicalJson(typedAt(values, rank, facts.type === 'text' ? 'text' : 'json'))
    if (facts.type === 'text') return binaryText(String(typedAt(values, rank, 'text')))
    const value = valueAt(values, rank)
    if (facts.type === 'date-time') return instant(String(value))
    if (facts.type === 'boolean') return String(value)
    const number = numberText(value)
    return number === undefined ? undefined : decimalKey(number)
  })
}
