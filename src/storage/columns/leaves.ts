import { compileExpression, matchedText } from '../../lib/expressions.ts'
import { firstKeys } from '../../lib/sort-keys.ts'
import type { FieldType } from '../../model/entities.ts'
import { constantValue } from '../../model/json-values.ts'
import { foundIn, holdsIfMissing, soughtIn, testOf } from '../../model/operators/list.ts'
import type { Searched } from '../../model/operators/operator.ts'
import type { Constant, ValueCondition } from '../../model/plan.ts'
import { orderOf } from '../../model/value-order.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { findPlace, type Place, placesIn } from './look-up.ts'
import { complement, noRanks, type RankSet, rankRange, ranksIn, ranksOf, tableOf } from './rank-sets.ts'
import type { Column, Postings } from './stored-column.ts'
import type { Values } from './stored-values.ts'
import { matchTexts, typedAt, valueAt } from './values.ts'

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

/**
 * Finds the ranks of the values for which a condition is true.
 * @param places of the constants, if they are already known
 */
export function ranksFor(
  condition: ValueCondition,
  facts: FieldFacts,
  places: readonly Place[] | undefined,
): RankSet {
  const ranks = foundIn(searched(condition, facts, places), condition)
  if (!condition.negated) return ranks
  const { distinct } = facts.column
  // The last rank is that of null.
  return complement(ranks, holdsIfMissing(condition) ? distinct + 1 : distinct)
}

function searched(
  condition: ValueCondition,
  facts: FieldFacts,
  places: readonly Place[] | undefined,
): Searched<RankSet> {
  const { type, column } = facts
  const { distinct } = column
  const isJson = type === 'json'
  const isList = isJson && condition.field.list === true
  const placesFor = (constants: readonly Constant[]) => {
    if (!places) return placesOf(constants, facts)
    const sought = soughtIn(condition) ?? []
    return constants === sought ? places : constants.map(one => places[sought.indexOf(one)] as Place)
  }
  const withNested = (ranks: RankSet, isOfArrays: boolean) => {
    const { nested } = kindsOf(required(facts))
    return union(ranks, tested(condition, facts, nested, isOfArrays), distinct)
  }
  return {
    equal: constants => {
      const plain = isJson ? constants.filter(({ kind }) => kind !== 'json') : constants
      const found = placesFor(plain).flatMap(({ at, isThere }) => (isThere ? at : []))
      const equal = ranksOf(found.sort((one, other) => one - other))
      const isOfPlain = plain.length === constants.length
      return isList || !isOfPlain ? withNested(equal, isOfPlain) : equal
    },
    ordered: (operator, constant) => {
      const [place] = isJson && constant.kind !== 'number' ? [] : placesFor([constant])
      if (!place) return noRanks
      const { from, end } = numbersIn(facts)
      const after = place.isThere ? place.at + 1 : place.at
      const edge = operator === '<=' || operator === '>' ? after : place.at
      const numbers = operator.startsWith('<') ? rankRange(from, edge) : rankRange(edge, end)
      return isList ? withNested(numbers, true) : numbers
    },
    matching: expression => {
      const ranks = matching(expression, facts, isList)
      return isList ? withNested(ranks, false) : ranks
    },
    tested: (_, isOfArrays = false) =>
      tested(condition, facts, isOfArrays ? kindsOf(required(facts)).nested : 0, isOfArrays),
  }
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

/** The ranks of the values that match, without nested ones if these are lists. */
function matching(expression: string, facts: FieldFacts, isList: boolean): RankSet {
  const values = required(facts)
  const { distinct } = facts.column
  const { numbers, nested } =
    facts.type === 'json' ? kindsOf(values) : { numbers: distinct, nested: distinct }
  const matcher = compileExpression(expression)
  const ranks: number[] = []
  matchTexts(values, numbers, matcher, rank => ranks.push(rank))
  const end = isList ? nested : distinct
  for (let rank = numbers; rank < end; rank++) {
    if ((rank & 0xfff) === 0) mayGoOn()
    if (matcher.test(matchedText(valueAt(values, rank)))) ranks.push(rank)
  }
  return ranksOf(ranks)
}

/** The ranks from one on whose values pass the test of a condition. @param isOfArrays true if only arrays can */
function tested(condition: ValueCondition, facts: FieldFacts, from: number, isOfArrays: boolean): RankSet {
  const values = required(facts)
  const { distinct } = facts.column
  const test = testOf(condition, facts.type, facts.collation)
  const ranks: number[] = []
  for (let rank = from; rank < distinct; rank++) {
    if ((rank & 0xfff) === 0) mayGoOn()
    if (isOfArrays && values.bytesAt(rank)[0] !== openBracket) continue
    if (test(typedAt(values, rank, facts.type))) ranks.push(rank)
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
