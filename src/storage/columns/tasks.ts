import { decimalKey } from '../../lib/decimals.ts'
import { numberText } from '../../lib/json.ts'
import { binaryText, instant } from '../../lib/sort-keys.ts'
import type { FieldType } from '../../model/entities.ts'
import { canonicalJson } from '../../model/json-values.ts'
import { comparisons } from '../../model/operators/tests.ts'
import type { FieldRef, Leaf, ValueCondition } from '../../model/plan.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { type GivenColumn, type GivenPostings, openColumn, openPostings } from './columns.ts'
import { type FieldFacts, ranksFor, required } from './leaves.ts'
import type { Place } from './look-up.ts'
import { type Membership, membersOf } from './memberships.ts'
import { rankRange } from './rank-sets.ts'
import { type ReadableRecords, readerOf } from './readable-records.ts'
import { type Sought, soughtAll, soughtRanks } from './select.ts'
import { emptySelection, noBits, openSelection, type PackedSelection, packedSize } from './selections.ts'
import { type GivenValues, openValues, typedAt, valueAt } from './values.ts'

/**
 * Facts about a field as a task takes them: plain data, and memory that threads share. Tasks run the same
 * code for both engines, and quick ones run on the thread that answers requests.
 */
export interface PackedFacts {
  readonly type: FieldType
  readonly collation: string | undefined
  readonly column: GivenColumn
  /** The numbers of all records by rank. */
  readonly postings: GivenPostings | null
  readonly values: GivenValues | null
}

/** A condition whose fields are positions in `facts`. */
export type TaskNode =
  | TaskLeaf
  | { readonly kind: 'and' | 'or'; readonly of: readonly TaskNode[] }
  | Membership
  | FieldsNode
  /** Records that were already found. */
  | { readonly kind: 'records'; readonly selection: PackedSelection }

/** A condition that the ranks of one field answer. */
export type TaskLeaf =
  | { readonly kind: 'none' }
  | { readonly kind: 'null'; readonly facts: number; readonly negated: boolean }
  | {
      readonly kind: 'value'
      readonly facts: number
      readonly condition: ValueCondition
      /** The places of the constants, if the values are not at hand. */
      readonly places?: readonly Place[]
    }

export interface FilterTask {
  /** Number of records in the version. */
  readonly count: number
  readonly facts: readonly (PackedFacts & { readonly ref: FieldRef })[]
  readonly where: TaskNode
  /** All records, in which values are looked up; null: they are not loaded. */
  readonly records: ReadableRecords | null
}

export function prepare({ count, facts, where, records }: FilterTask): Sought {
  const opened = facts.map(one => openFacts(one, count, records))
  const factsOf = (node: FieldsNode | Membership) => node.facts.map(at => factsAt(opened, at))
  const prepared = (node: TaskNode): Sought => {
    switch (node.kind) {
      case 'and':
      case 'or':
        return soughtAll(node.kind, node.of.map(prepared), count)
      case 'none':
        return { kind: 'records', selection: emptySelection, most: 0 }
      case 'null': {
        const { column, postings } = factsAt(opened, node.facts)
        const { distinct } = column
        return soughtRanks(
          column,
          postings,
          node.negated ? rankRange(0, distinct) : rankRange(distinct, distinct + 1),
        )
      }
      case 'value': {
        const found = factsAt(opened, node.facts)
        const ranks = ranksFor(node.condition, found, node.places)
        return soughtRanks(found.column, found.postings, ranks)
      }
      case 'records':
        return {
          kind: 'records',
          selection: openSelection(node.selection),
          most: packedSize(node.selection),
        }
      case 'fields':
        return comparedFields(node, factsOf(node), count)
      case 'member':
        return membersOf(node, factsOf(node), count)
    }
  }
  return prepared(where)
}

/** Opens packed facts in the thread that works with them. */
export function openFacts(
  { ref, type, collation, column: given, postings: givenPostings, values }: FilterTask['facts'][number],
  count: number,
  records: ReadableRecords | null,
): FieldFacts {
  const column = openColumn(given, count)
  const postings = givenPostings && openPostings(givenPostings, column)
  return {
    type,
    collation,
    column,
    postings,
    values: values && openValues(values, column.distinct),
    read:
      records && postings && !ref.related
        ? readerOf(records, ref, rank => postings.of(rank, rank + 1)[0] as number)
        : null,
  }
}

function factsAt(opened: readonly FieldFacts[], at: number): FieldFacts {
  const found = opened[at]
  if (!found) throw new Error('a field of the condition is missing')
  return found
}

type Compared = Leaf<'fields'>

/** A comparison of two fields, which are positions in `facts`. */
interface FieldsNode extends Pick<Compared, 'kind' | 'operator' | 'negated'> {
  readonly facts: readonly [number, number]
}

/** Compares the values of two fields in each record: each distinct value gets a number that compares like it. */
function comparedFields(
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
    // A value without an order is NaN, and so is every difference from it.
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
