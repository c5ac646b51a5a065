import { compileExpression } from '../../lib/expressions.ts'
import { matchedText } from '../../lib/json-text.ts'
import { firstKeys } from '../../lib/sort-keys.ts'
import type { FieldType } from '../../model/entities.ts'
import { constantValue } from '../../model/json-values.ts'
import { holdsIfMissing, testOf } from '../../model/operators/list.ts'
import type { Constant, ValueCondition } from '../../model/plan.ts'
import { orderOf } from '../../model/value-order.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { findPlace, type Place, placesIn } from './look-up.ts'
import { complement, noRanks, type RankSet, rankRange, ranksIn, ranksOf, tableOf } from './rank-sets.ts'
import type { Column, Postings } from './stored-column.ts'
import type { Values } from './stored-values.ts'
import { matchTexts, valueAt } from './values.ts'

/** Facts about a field by which the ranks that fulfill a condition are found. */
export interface FieldFacts {
  readonly type: FieldType
  readonly collation: string | undefined
  readonly column: Column
  /** The numbers of all records by rank, if they are at hand. */
  readonly postings: Postings | null
  readonly values: Values | null
  /** Reads the value of a rank if `values` is null. */
  readonly read: ((rank: number) => unknown) | null
}

/** The constants of a condition that are found by binary search, in the order of their places. */
export function soughtIn(condition: ValueCondition): readonly Constant[] {
  if (condition.kind === 'compare') return [condition.value]
  return condition.kind === 'in' ? condition.values : []
}

/**
 * Finds the ranks of the values for which a condition is true.
 * @param places of the constants, if they are already known
 */
export function ranksFor(
  condition: ValueCondition,
  facts: FieldFacts,
  places: readonly Place[] | undefined,
): RankSet {
  const ranks = trueFor(condition, facts, places)
  if (!condition.negated) return ranks
  const { distinct } = facts.column
  // The last rank is that of null.
  return complement(ranks, holdsIfMissing(condition) ? distinct + 1 : distinct)
}

function trueFor(
  condition: ValueCondition,
  facts: FieldFacts,
  places: readonly Place[] | undefined,
): RankSet {
  const { distinct } = facts.column
  if (condition.kind === 'matches' || condition.kind === 'path matches') return scanned(condition, facts)
  const sought = soughtIn(condition).filter(one => facts.type !== 'json' || one.kind !== 'json')
  const found = places ?? placesOf(sought, facts)
  if (condition.kind === 'compare' && condition.operator !== '=') {
    const [constant] = sought
    const [place] = found
    if (!constant || !place || (facts.type === 'json' && constant.kind !== 'number')) return noRanks
    const { from, end } = numbersIn(facts)
    const after = place.isThere ? place.at + 1 : place.at
    const isBelow = condition.operator.startsWith('<')
    const edge = condition.operator === '<=' || condition.operator === '>' ? after : place.at
    const numbers = isBelow ? rankRange(from, edge) : rankRange(edge, end)
    if (facts.type !== 'json' || !condition.field.list) return numbers
    const values = required(facts)
    return union(numbers, tested(condition, values, kindsOf(values).nested, distinct), distinct)
  }
  const equal = found.flatMap(({ at, isThere }) => (isThere ? at : [])).sort((one, other) => one - other)
  const mayBeNested = condition.field.list || soughtIn(condition).some(({ kind }) => kind === 'json')
  if (facts.type !== 'json' || !mayBeNested) return ranksOf(equal)
  const values = required(facts)
  return union(ranksOf(equal), tested(condition, values, kindsOf(values).nested, distinct), distinct)
}

function placesOf(constants: readonly Constant[], facts: FieldFacts): readonly Place[] {
  const { values, read, column } = facts
  if (values) return placesIn(values, facts, constants)
  if (!read) throw new Error('the values of a field are not at hand')
  const order = orderOf(facts)
  return constants.map(constant => {
    const key = order.key(constantValue(constant))
    return findPlace(column.distinct, rank => order.compare(order.key(read(rank)), key))
  })
}

/** Tests every value, for a condition that only the values themselves can answer. */
function scanned(condition: ValueCondition, facts: FieldFacts): RankSet {
  const values = required(facts)
  const { distinct } = facts.column
  const kinds =
    facts.type === 'json' ? kindsOf(values) : { numbers: distinct, booleans: distinct, nested: distinct }
  if (condition.kind !== 'matches') return tested(condition, values, kinds.nested, distinct)
  const matcher = compileExpression(condition.expression)
  const ranks: number[] = []
  const testOthers = (from: number, end: number) => {
    for (let rank = from; rank < end; rank++) {
      if ((rank & 0xfff) === 0) mayGoOn()
      if (matcher.test(matchedText(valueAt(values, rank)))) ranks.push(rank)
    }
  }
  matchTexts(values, kinds.numbers, matcher, rank => ranks.push(rank))
  testOthers(kinds.numbers, condition.field.list ? kinds.nested : distinct)
  if (!condition.field.list) return ranksOf(ranks)
  return union(ranksOf(ranks), tested(condition, values, kinds.nested, distinct), distinct)
}

/** The ranks of nested values for which a condition is true. */
function tested(condition: ValueCondition, values: Values, from: number, end: number): RankSet {
  const test = testOf(condition, 'json')
  const needsArray =
    condition.kind === 'path matches' ||
    (condition.kind !== 'matches' && soughtIn(condition).every(({ kind }) => kind !== 'json'))
  const ranks: number[] = []
  for (let rank = from; rank < end; rank++) {
    if ((rank & 0xfff) === 0) mayGoOn()
    if (needsArray && values.bytesAt(rank)[0] !== openBracket) continue
    if (test(valueAt(values, rank))) ranks.push(rank)
  }
  return ranksOf(ranks)
}

const openBracket = 0x5b

function union(one: RankSet, other: RankSet, distinct: number): RankSet {
  if (one.length === 0) return other
  if (other.length === 0) return one
  const table = tableOf(one, distinct)
  table.set(tableOf(other, distinct).map((isThere, rank) => isThere | (table[rank] as number)))
  return ranksIn(table)
}

/** The ranks at which the numbers, booleans and nested values of a JSON field begin; texts come first. */
export function kindsOf(values: Values): { numbers: number; booleans: number; nested: number } {
  const order = orderOf({ type: 'json' })
  const place = (key: string) =>
    findPlace(values.length, rank => (order.key(valueAt(values, rank)) < key ? -1 : 1)).at
  const { number, boolean, nested } = firstKeys
  return { numbers: place(number), booleans: place(boolean), nested: place(nested) }
}

/** The range of ranks that are ordered and summed: the numbers of a JSON field, all values of others. */
export function numbersIn(facts: FieldFacts): { from: number; end: number } {
  if (facts.type !== 'json') return { from: 0, end: facts.column.distinct }
  const { numbers, booleans } = kindsOf(required(facts))
  return { from: numbers, end: booleans }
}

export function required({ values }: Pick<FieldFacts, 'values'>): Values {
  if (!values) throw new Error('the values of a field are not at hand')
  return values
}
