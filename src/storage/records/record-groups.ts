import { hash } from 'node:crypto'
import type { Client } from '../../lib/fair-queue.ts'
import { aggregates } from '../../model/functions/functions.ts'
import type { Rows, Scalar } from '../../model/plan.ts'
import { type RecordFormat, separators } from '../../model/record-format.ts'
import { columnOf, jsonOfPlan } from '../columns/columns.ts'
import { type GroupColumn, type GroupTask, openRows, type PackedRows } from '../columns/group-rows.ts'
import { pickRecords, range } from '../columns/loaded-records.ts'
import { fieldsOf } from '../columns/rows.ts'
import { MemoryValues } from '../columns/values.ts'
import type { Listing, RecordPlan } from '../entities.ts'
import { pieceBytes, whilePresent } from '../runtime/limits.ts'
import type { Turn } from './kept-facts.ts'
import { Needs } from './needs.ts'
import type { RecordOrders } from './record-orders.ts'
import type { RecordSource } from './record-source.ts'

type GroupPlan = RecordPlan & { readonly shape: Rows }

/** True if rows show several records each. */
export const isGrouped = ({ columns, groups, distinct }: Rows): boolean =>
  groups !== null || distinct || columns.some(({ value }) => value.kind === 'aggregate')

/** Maximum size in bytes of a result that is cached. */
const maxKept = 64 * 1024

/** Lists rows that show several records each (docs/decisions/0035), in the thread for long work. */
export function createRecordGroups(source: RecordSource, { facts, filters }: RecordOrders) {
  async function make(turn: Turn, plan: GroupPlan): Promise<PackedRows> {
    const { entity, where } = plan
    const needs = new Needs(entity)
    const wanted = taskOf(plan, needs)
    const selection = where && (await filters.find(turn, entity, where))
    const known: GroupTask['facts'][number][] = []
    for (const need of needs.all) known.push({ ...(await facts.make(turn, entity, need)), ref: need.ref })
    const task = { ...wanted, count: entity.source.count, selection, facts: known }
    return whilePresent(turn.client, stop => turn.work.call('groups', task, stop))
  }

  return async (plan: GroupPlan, format: RecordFormat, client: Client): Promise<Listing> => {
    const { entity, where, shape, page } = plan
    const { offset, limit } = page
    const name = `rows ${hash('sha256', jsonOfPlan([where, shape, offset, limit]), 'base64')}`
    const packed =
      facts.peekKept<PackedRows>(entity, name) ??
      (await source.inTurn(client, async work => {
        const turn = { work, client }
        return facts.kept(turn, entity, name, () => make(turn, plan), maxKept)
      }))
    const { total, length, rows } = openRows(packed)
    const values = new MemoryValues(rows, length)
    const counts = { total, more: limit === null ? undefined : offset + length < total }
    const size = values.starts[length] as number
    if (format !== 'csv' && size <= pieceBytes)
      return { ...counts, body: pickRecords(values, range(0, length), separators[format]) }
    return { ...counts, body: pieces(source, values, shape, format, client) }
  }
}

async function* pieces(
  source: RecordSource,
  values: MemoryValues,
  { columns }: Rows,
  format: RecordFormat,
  client: Client,
) {
  for (let from = 0; from < values.length; ) {
    let end = from + 1
    while (
      end < values.length &&
      (values.starts[end + 1] as number) - (values.starts[from] as number) <= pieceBytes
    )
      end++
    const json = pickRecords(values, range(from, end), separators[format])
    yield format === 'csv'
      ? await source.inTurn(client, work =>
          work.call('piece', Buffer.from(json).toString(), format, fieldsOf(columns), null),
        )
      : json
    from = end
  }
}

/** Makes the task, without the records and the facts. */
function taskOf({ shape, page }: GroupPlan, needs: Needs): Omit<GroupTask, 'count' | 'selection' | 'facts'> {
  const isAggregate = shape.columns.some(({ value }) => value.kind === 'aggregate')
  // Without aggregates, distinct rows are groups by all columns.
  const scalars =
    shape.groups ??
    (isAggregate ? null : shape.columns.flatMap(({ value }) => (value.kind === 'aggregate' ? [] : value)))
  const names = new Map<string, number>()
  const groups: number[] = []
  const groupOf = (scalar: Scalar) => {
    const name = jsonOfPlan(scalar)
    const known = names.get(name)
    if (known === undefined) throw new Error('a row shows or sorts by what it is not grouped by')
    return { kind: 'group', at: known } as const
  }
  for (const scalar of scalars ?? []) {
    const name = jsonOfPlan(scalar)
    if (names.has(name)) continue
    names.set(name, groups.length)
    groups.push(needs.add(columnOf(scalar), { values: true }))
  }
  const columns = shape.columns.map(({ name, type, value }): GroupColumn => {
    if (value.kind !== 'aggregate') return { name, type, value: groupOf(value) }
    const { field, ...aggregate } = value
    const facts = field && needs.add(field, { values: !aggregates[value.name].counts })
    return { name, type, value: { ...aggregate, facts } }
  })
  return {
    groups: scalars && groups,
    columns,
    having: shape.having,
    distinct: shape.distinct,
    order: shape.order.map(({ by, descending }) => ({
      by: typeof by === 'number' ? { kind: 'column', at: by } : groupOf(by),
      descending,
    })),
    offset: page.offset,
    limit: page.limit,
  }
}
