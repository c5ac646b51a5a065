import type { FieldType } from '../../model/entities.ts'
import type { ValueCondition } from '../../model/json-values.ts'
import type { FieldRef } from '../../model/plan.ts'
import { type GivenColumn, type GivenPostings, openColumn, openPostings } from './columns.ts'
import { comparedFields, type FieldsNode } from './compared-fields.ts'
import { type FieldFacts, ranksFor } from './leaves.ts'
import type { Place } from './look-up.ts'
import { type Membership, membersOf } from './memberships.ts'
import { rankRange } from './rank-sets.ts'
import { type ReadableRecords, readerOf } from './readable-records.ts'
import { type Sought, soughtAll, soughtRanks } from './select.ts'
import { emptySelection, openSelection, type PackedSelection, packedSize } from './selections.ts'
import { type GivenValues, openValues } from './values.ts'

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
