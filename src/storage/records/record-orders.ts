import type { Awaitable } from '../../lib/awaitable.ts'
import type { Client } from '../../lib/fair-queue.ts'
import { decidingOrder, type Page } from '../../model/entities.ts'
import type { Condition, FieldRef, Rows } from '../../model/plan.ts'
import { columnOf, nameOf, openColumn, type PackedColumn } from '../columns/columns.ts'
import { type GivenSlots, toSlots } from '../columns/edits.ts'
import { range } from '../columns/loaded-records.ts'
import { numbersBetween, type PackedSelection, packedSize } from '../columns/selections.ts'
import { sortFew } from '../columns/sort-records.ts'
import type { TaskOrder } from '../columns/work.ts'
import type { RecordEntity, RecordPlan } from '../entities.ts'
import type { RecordCache } from '../runtime/version-cache.ts'
import type { Facts } from './facts.ts'
import { createFilters, type Filters, nameOfCondition } from './filters.ts'
import type { Turn } from './kept-facts.ts'
import { onlyRanks } from './needs.ts'
import type { ChangedSource } from './overlay-source.ts'
import { nameOfRelevance, type Relevance, relevanceOfAll } from './text-search.ts'

/** Slots of records in the requested order. */
interface RecordList {
  readonly length: number
  /** The slots from place `from` to below `end`. */
  between(from: number, end: number): Uint32Array
}

const listOf = (slots: Uint32Array): RecordList => ({
  length: slots.length,
  between: (from, end) => slots.subarray(from, end),
})

/** All records in the order of the key. */
const listOfSlots = (slots: GivenSlots, count: number): RecordList => ({
  length: count,
  between: (from, end) =>
    slots instanceof Uint32Array
      ? slots.subarray(from, end)
      : toSlots(Uint32Array.from(range(from, Math.min(end, count))), slots),
})

/** Selected records in the order of the key. @param slots null: their numbers */
const listOfSelected = (packed: PackedSelection, slots: GivenSlots | null): RecordList => ({
  length: packedSize(packed),
  between: (from, end) => {
    const numbers = numbersBetween(packed, from, end)
    return slots ? toSlots(numbers.slice(), slots) : numbers
  },
})

/** The slots of records in the order of a plan. */
export interface RecordOrders {
  /**
   * Lists the records that match, or all.
   * @returns undefined for all in the order of the key, which is that of the slots
   */
  of(plan: RecordPlan, client: Client): Awaitable<RecordList | undefined>
  /**
   * Lists the few records that match by facts at hand, in the order of the key. It doesn't look for them in the
   * cache, because a condition such as that of a key is seldom asked for again.
   * @returns undefined if the thread has to be asked
   */
  few(entity: RecordEntity, where: Condition): RecordList | undefined
  readonly facts: Facts
  readonly filters: Filters
}

/** What to sort by, the most significant first, and the name of the order in the cache. */
interface Sort {
  readonly name: string
  readonly refs: readonly (readonly [by: FieldRef | Relevance, descending: boolean])[]
}

/** @param cache keeps orders, filters, and what they are made of */
export function createRecordOrders(source: ChangedSource, cache: RecordCache): RecordOrders {
  const { facts } = source
  const filters = createFilters(facts)

  /** Lists all records. */
  function ordered(entity: RecordEntity, sort: Sort | null, client: Client) {
    const { version, count } = entity.source
    if (sort === null) {
      const slots = facts.peekSlots(entity)
      if (slots === null) return undefined
      if (slots !== undefined) return listOfSlots(slots, count)
      return source.inTurn(client, async work =>
        listOfSlots((await facts.slots({ work, client }, entity)) as GivenSlots, count),
      )
    }
    const known = cache.peek<Uint32Array>(version, sort.name)
    return known ? listOf(known) : listed(entity, null, sort.name, sort, client)
  }

  function matching(
    { entity, page }: RecordPlan,
    where: Condition,
    sort: Sort | null,
    client: Client,
  ): Awaitable<RecordList> {
    const isByKey = sort === null
    if (isByKey) {
      const selected = filters.peek(entity, where)
      const slots = facts.peekSlots(entity)
      if (selected && slots !== undefined) return listOfSelected(selected, slots)
    }
    const name = `list ${nameOfCondition(where)} ${sort?.name ?? ''}`
    const known = isByKey ? undefined : cache.peek<Uint32Array>(entity.source.version, name)
    if (known) return listOf(known)
    const end = isByKey && page.limit !== null ? page.offset + page.limit : undefined
    const quick = quickly({ facts, filters }, entity, where, sort, end)
    if (quick) return quick
    return isByKey
      ? source.inTurn(client, async work => {
          const turn: Turn = { work, client }
          return listOfSelected(await filters.find(turn, entity, where), await facts.slots(turn, entity))
        })
      : listed(entity, where, name, sort, client)
  }

  /** Lists records in the thread. @param where null: all */
  const listed = (
    entity: RecordEntity,
    where: Condition | null,
    name: string,
    sort: Sort | null,
    client: Client,
  ) =>
    source.inTurn(client, async work => {
      const turn: Turn = { work, client }
      const slots = await facts.kept(turn, entity, name, async () => {
        const selection = where && (await filters.find(turn, entity, where))
        const order: TaskOrder[] = []
        for (const [ref, descending] of sort?.refs ?? []) {
          order.push({ column: await columnFor(facts, turn, entity, ref), descending })
        }
        return work.call('list', selection, entity.source.count, order, await facts.slots(turn, entity))
      })
      return listOf(slots)
    })

  return {
    of: (plan, client) => {
      const { entity, where, shape, page } = plan
      const sort = shape.kind === 'rows' ? sortOfRows(entity, shape) : sortOf(entity, page.order)
      return where === null ? ordered(entity, sort, client) : matching(plan, where, sort, client)
    },
    few: (entity, where) => quickly({ facts, filters }, entity, where, null, undefined),
    facts,
    filters,
  }
}

const columnFor = async (facts: Facts, turn: Turn, entity: RecordEntity, by: FieldRef | Relevance) =>
  isRelevance(by)
    ? relevanceOfAll(turn, entity, by, facts)
    : (await facts.make(turn, entity, { ref: by, ...onlyRanks })).column

const peekColumn = (facts: Facts, entity: RecordEntity, by: FieldRef | Relevance) =>
  isRelevance(by)
    ? facts.peekKept<PackedColumn>(entity, nameOfRelevance(by))
    : facts.peek(entity, { ref: by, ...onlyRanks })?.column

/**
 * Lists a few records by facts at hand, which takes no longer than asking the thread.
 * @param end of the page, if the first records are enough
 */
function quickly(
  { facts, filters }: Pick<RecordOrders, 'facts' | 'filters'>,
  entity: RecordEntity,
  where: Condition,
  sort: Sort | null,
  end: number | undefined,
): RecordList | undefined {
  const { count } = entity.source
  const slots = facts.peekSlots(entity)
  const columns = (sort?.refs ?? []).map(
    ([by, descending]) => [peekColumn(facts, entity, by), descending] as const,
  )
  if (slots === undefined || columns.some(([column]) => column === undefined)) return undefined
  const found = filters.quickly(entity, where, end)
  if (!found || columns.length === 0)
    return (
      found && {
        ...listOf(slots ? toSlots(found.numbers.slice(), slots) : found.numbers),
        length: found.total,
      }
    )
  const order = columns.flatMap(([column, descending]) =>
    column ? { rankOf: openColumn(column, count).reader(found.numbers.length), descending } : [],
  )
  const sorted = sortFew(found.numbers, order)
  if (slots) toSlots(sorted, slots)
  return listOf(sorted)
}

const isRelevance = (by: FieldRef | Relevance): by is Relevance => 'words' in by

/** @returns null for the order of the key */
function sortOfRows(entity: RecordEntity, { columns, order }: Rows): Sort | null {
  if (order.length === 0) return null
  const refs = order.map(({ by, descending }) => {
    const value = typeof by === 'number' ? columns[by]?.value : by
    if (!value || value.kind === 'aggregate') throw new Error('a record has no aggregates to sort by')
    return [value.kind === 'relevance' ? value : columnOf(value), descending] as const
  })
  return sortBy(entity, refs)
}

const sortBy = (entity: RecordEntity, refs: Sort['refs']): Sort => ({
  name: refs
    .map(([by, descending]) => `${isRelevance(by) ? nameOfRelevance(by) : nameOf(entity, by)},${descending}`)
    .join(),
  refs,
})

/** `parsePage` returns the same object for the same order of an entity, so sorts are cached by it. */
const sorts = new WeakMap<Page['order'], Sort | null>()

/** @returns null for the order of the key */
function sortOf(entity: RecordEntity, order: Page['order']): Sort | null {
  if (order.length === 0) return null
  const known = sorts.get(order)
  if (known !== undefined) return known
  const key = [entity.key].flat()
  const deciding = decidingOrder(entity, order)
  const refs = deciding.map(({ field, descending }) => {
    const type = entity.fields.find(({ name }) => name === field)?.type ?? 'text'
    return [{ name: field, path: [], type }, descending] as const
  })
  const isOrderOfKey = deciding.every(({ field, descending }, at) => field === key[at] && !descending)
  const sort = isOrderOfKey ? null : sortBy(entity, refs)
  sorts.set(order, sort)
  return sort
}
