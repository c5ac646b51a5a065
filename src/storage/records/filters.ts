import { hash } from 'node:crypto'
import type { Awaitable } from '../../lib/awaitable.ts'
import { memo } from '../../lib/memo.ts'
import { constantValue } from '../../model/json-values.ts'
import { madeBy, soughtIn } from '../../model/operators/list.ts'
import type { Engine } from '../../model/operators/operator.ts'
import type { Condition, FieldRef, Leaf } from '../../model/plan.ts'
import { listedField } from '../../model/plan-fields.ts'
import { orderOf } from '../../model/value-order.ts'
import { indexOf, isPacked, jsonOfPlan, typeOf } from '../columns/columns.ts'
import type { GivenSlots } from '../columns/edits.ts'
import { costOf, firstOf, select } from '../columns/select.ts'
import { numbersIn, type PackedSelection, sizeOfSelection } from '../columns/selections.ts'
import { type FilterTask, prepare, type TaskLeaf, type TaskNode } from '../columns/tasks.ts'
import type { RecordEntity } from '../entities.ts'
import { whilePresent } from '../runtime/limits.ts'
import type { Facts } from './facts.ts'
import { createInPlans, type Find } from './in-plans.ts'
import type { Turn } from './kept-facts.ts'
import { isSameColumn, Needs } from './needs.ts'
import { textMatches } from './text-search.ts'

/** Finds the records that match a condition (docs/decisions/0035). */
export interface Filters {
  /** @returns undefined unless they were found before and are still cached */
  peek(entity: RecordEntity, where: Condition): PackedSelection | undefined
  /**
   * Finds them at once, on this thread, if all facts are at hand and asking another would take as long.
   * @param wanted number of first records that is enough; undefined: all
   */
  quickly(entity: RecordEntity, where: Condition, wanted?: number): Quick | undefined
  /** Finds them in the thread for long work, and caches them. */
  readonly find: Find
}

/** The number of matching records, and the record numbers of all of them or of the first. */
interface Quick {
  readonly total: number
  readonly numbers: Uint32Array
}

const maxName = 256

/** Names a condition in the cache: by its JSON, or by a hash of it if that is long. Many requests share one object. */
export const nameOfCondition: (where: Condition) => string = memo(where => {
  const json = jsonOfPlan(where)
  return json.length <= maxName ? json : hash('sha256', json, 'base64')
})

/** Names the records that match a condition in the cache. */
export const filterName: (where: Condition) => string = memo(where => `filter ${nameOfCondition(where)}`)

/** Limits of what is found on this thread: records found, values looked up in memory, and records looked at. */
const quickRecords = 1_024
const quickLookups = 128
const quickCost = 8_192
/** Limit of the values that are looked up in records or in files, which takes 80 µs each. */
const quickReads = 24

type QuickNode = TaskLeaf | { readonly kind: 'and' | 'or'; readonly of: readonly QuickNode[] }

/** A node of a task that may take reading to make, as for a subquery. */
interface Open {
  /** The node, if it only looks values up. */
  readonly quick: QuickNode | null
  make(task: Task): Awaitable<TaskNode>
}

interface Task extends Pick<FilterTask, 'facts' | 'records'> {
  readonly turn: Turn
  readonly slots: GivenSlots | null
}

const atOnce = (node: QuickNode): Open => ({ quick: node, make: () => node })
const later = (make: Open['make']): Open => ({ quick: null, make })

function joined(kind: 'and' | 'or', of: readonly Open[]): Open {
  const nodes = of.flatMap(({ quick }) => quick ?? [])
  return {
    quick: nodes.length === of.length ? { kind, of: nodes } : null,
    make: async task => {
      const made: TaskNode[] = []
      for (const one of of) made.push(await one.make(task))
      return { kind, of: made }
    },
  }
}

interface Parts {
  readonly facts: Facts
  readonly inPlan: ReturnType<typeof createInPlans>
  readonly find: Find
}

/** Opens conditions as nodes of a task, and adds what they need to know of fields. */
function tasks(entity: RecordEntity, needs: Needs, { facts, inPlan, find }: Parts): Engine<Open> {
  const among = (
    condition: Leaf<'in plan' | 'in rows'>,
    isSame: (field: FieldRef, at: number) => boolean,
  ): Open => {
    const places = condition.fields.map((field, at) =>
      needs.add(field, { values: !isSame(field, at), postings: true }),
    )
    return later(task => inPlan(task.turn, entity, condition, places, task.facts))
  }
  return {
    and: ({ of }, open) => joined('and', of.map(open)),
    or: ({ of }, open) => joined('or', of.map(open)),
    none: () => atOnce({ kind: 'none' }),
    null: ({ field, negated }) =>
      atOnce({ kind: 'null', facts: needs.add(field, { postings: true }), negated }),
    value: condition => {
      const sought = soughtIn(condition)
      const values = sought === undefined || typeOf(entity, condition.field).type === 'json'
      const need = { values, lookups: sought?.length ?? 0, postings: true }
      const node = { kind: 'value', facts: needs.add(condition.field, need), condition } as const
      return { quick: sought ? node : null, make: task => placed(facts, entity, node, task) }
    },
    fields: ({ field, operator, other, negated }) => {
      const both = [needs.add(field, { values: true }), needs.add(other, { values: true })] as const
      return later(() => ({ kind: 'fields', operator, negated, facts: both }))
    },
    'in plan': condition =>
      among(condition, (field, at) =>
        isSameColumn(entity, field, condition.plan.entity, listedField(condition.plan, at)),
      ),
    'in rows': condition => among(condition, () => false),
    text: condition =>
      later(async ({ turn }) => ({
        kind: 'records',
        selection: await textMatches(turn, entity, condition, facts),
      })),
    sample: ({ plan, size, seed }) =>
      later(async ({ turn }) => {
        const matching = plan.where && (await find(turn, entity, plan.where))
        const selection = await turn.work.call('sample', matching, entity.source.count, size, seed)
        return { kind: 'records', selection }
      }),
  }
}

export function createFilters(facts: Facts): Filters {
  const open = (entity: RecordEntity, needs: Needs, where: Condition) =>
    madeBy(tasks(entity, needs, { facts, inPlan, find }), where)

  const find: Find = (turn, entity, where) =>
    facts.kept(turn, entity, filterName(where), async () => {
      const needs = new Needs(entity)
      const opened = open(entity, needs, where)
      const found: FilterTask['facts'][number][] = []
      for (const need of needs.all) found.push({ ...(await facts.make(turn, entity, need)), ref: need.ref })
      const slots = await facts.slots(turn, entity)
      const task = { count: entity.source.count, facts: found, records: facts.records(entity, slots) }
      const node = await opened.make({ ...task, turn, slots })
      return whilePresent(turn.client, stop => turn.work.call('filter', { ...task, where: node }, stop))
    })
  const inPlan = createInPlans(facts, find)

  return {
    peek: (entity, where) => facts.peekKept(entity, filterName(where)),
    quickly: (entity, where, wanted) => {
      const needs = new Needs(entity)
      const { quick: node } = open(entity, needs, where)
      if (!node || needs.all.reduce((sum, { lookups }) => sum + lookups, 0) > quickLookups) return undefined
      const slots = facts.peekSlots(entity)
      if (slots === undefined) return undefined
      const records = facts.records(entity, slots)
      const found = factsAtHand(facts, entity, needs, records !== null)
      if (!found) return undefined
      const { count } = entity.source
      const sought = prepare({ count, facts: found, where: node, records })
      if (costOf(sought, count) > quickCost) {
        const first = wanted === undefined ? undefined : firstOf(sought, count, wanted)
        // A filter that is asked for twice is found and cached in the background.
        facts.makeLater(entity, filterName(where), 1, 2, turn => find(turn, entity, where))
        return first && { total: sought.most, numbers: first }
      }
      const selection = select(sought, count)
      const total = sizeOfSelection(selection)
      return total <= quickRecords ? { total, numbers: numbersIn(selection, count) } : undefined
    },

    find,
  }
}

/** Looks the values up here, unless the task does it. */
async function placed(
  facts: Facts,
  entity: RecordEntity,
  node: Extract<TaskLeaf, { readonly kind: 'value' }>,
  task: Task,
): Promise<TaskNode> {
  const { turn, slots } = task
  const known = task.facts[node.facts]
  if (!known || known.values || !isPacked(known.column)) return node
  const { ref, column } = known
  const sought = soughtIn(node.condition) ?? []
  facts.note(entity, { ref, lookups: sought.length })
  if (task.records && known.postings) return node
  const order = orderOf(typeOf(entity, ref))
  const keys = sought.map(one => order.key(constantValue(one)))
  const postings = known.postings && ArrayBuffer.isView(known.postings) ? known.postings : null
  const given = postings ?? (await turn.work.call('postings', column, entity.source.count))
  const all = slots && !(slots instanceof Uint32Array) ? await turn.work.call('allSlots', slots) : slots
  const among = { column, postings: given, slots: all }
  return { ...node, places: await turn.work.search(entity, indexOf(entity, ref), keys, among) }
}

/** @returns undefined unless all are at hand, and few values have to be looked up elsewhere than in memory */
function factsAtHand(
  facts: Facts,
  entity: RecordEntity,
  needs: Needs,
  hasRecords: boolean,
): FilterTask['facts'] | undefined {
  const found: FilterTask['facts'][number][] = []
  let reads = 0
  for (const need of needs.all) {
    const known = facts.peek(entity, need)
    const isInMemory = known?.values && !('path' in known.values)
    if (known && !isInMemory) facts.note(entity, need)
    if (!isInMemory) reads += need.lookups
    if (reads > quickReads) return undefined
    if (!known || known.type === 'json' || !(known.values || (known.postings && hasRecords))) return undefined
    found.push({ ...known, ref: need.ref })
  }
  return found
}
