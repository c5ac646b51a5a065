import type { FieldType } from '../../model/entities.ts'
import type { FieldRef } from '../../model/plan.ts'
import type { ValueCondition } from '../plans/json-values.ts'
import { openColumn, type PackedColumn } from './columns.ts'
import { type FieldFacts, ranksFor } from './leaves.ts'
import type { Place } from './look-up.ts'
import { type Membership, membersOf } from './memberships.ts'
import { rankRange } from './rank-sets.ts'
import { type ReadableRecords, readerOf } from './readable-records.ts'
import { type Sought, soughtAll, soughtRanks } from './select.ts'
import { emptySelection, openSelection, type PackedSelection, packedSize } from './selections.ts'
import { openValues, type PackedValues } from './values.ts'

/**
 * Work on a version as a thread takes it: plain data, and memory that threads share. The same code runs it for both engines,
 * and, if it is quick, on the thread that answers requests.
 */
export interface PackedFacts {
  readonly type: FieldType
  readonly collation: string | undefined
  readonly column: PackedColumn
  /** The numbers of all records by rank. */
  readonly postings: Uint32Array<SharedArrayBuffer> | null
  readonly values: PackedValues | null
}

/** A condition whose fields are numbers of facts. */
export type TaskNode =
  | TaskLeaf
  | { readonly kind: 'and' | 'or'; readonly of: readonly TaskNode[] }
  | Membership
  /** Those that were found already. */
  | { readonly kind: 'records'; readonly selection: PackedSelection }

/** What is answered by the ranks of one field. */
export type TaskLeaf =
  | { readonly kind: 'none' }
  | { readonly kind: 'null'; readonly facts: number; readonly negated: boolean }
  | {
      readonly kind: 'value'
      readonly facts: number
      readonly condition: ValueCondition
      /** Of the constants, where the values are not at hand. */
      readonly places?: readonly Place[]
    }

export interface FilterTask {
  /** How many records there are. */
  readonly count: number
  readonly facts: readonly (PackedFacts & { readonly ref: FieldRef })[]
  readonly where: TaskNode
  /** All records, to look values up in, if they are loaded. */
  readonly records: ReadableRecords | null
}

/** @param tick called now and then; it may throw to stop */
export function prepare({ count, facts, where, records }: FilterTask, tick: () => void): Sought {
  const opened = facts.map(one => openFacts(one, count, records))
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
        const ranks = ranksFor(node.condition, found, node.places, tick)
        return soughtRanks(found.column, found.postings, ranks)
      }
      case 'records':
        return {
          kind: 'records',
          selection: openSelection(node.selection),
          most: packedSize(node.selection),
        }
      case 'member':
        return membersOf(
          node,
          node.facts.map(at => factsAt(opened, at)),
          count,
          tick,
        )
    }
  }
  return prepared(where)
}

/** The same for a thread to work with. */
export function openFacts(
  { ref, type, collation, column: packed, postings, values }: FilterTask['facts'][number],
  count: number,
  records: ReadableRecords | null,
): FieldFacts {
  const column = openColumn(packed, count)
  return {
    type,
    collation,
    column,
    postings,
    values: values && openValues(values, column.distinct),
    read:
      records && postings
        ? readerOf(records, ref, rank => postings[column.starts[rank] as number] as number)
        : null,
  }
}

function factsAt(opened: readonly FieldFacts[], at: number): FieldFacts {
  const found = opened[at]
  if (!found) throw new Error('a field of the condition is missing')
  return found
}
