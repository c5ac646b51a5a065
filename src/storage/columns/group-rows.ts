import { sharedBytes, sharedNumbers } from '../../lib/memory.ts'
import type { FieldType } from '../../model/entities.ts'
import { countingRecords } from '../../model/functions/counts.ts'
import type { Accumulator, Result } from '../../model/functions/function.ts'
import { aggregates } from '../../model/functions/functions.ts'
import { memberAt } from '../../model/json-values.ts'
import { holdsIfMissing, madeBy, testOf } from '../../model/operators/list.ts'
import type { Engine } from '../../model/operators/operator.ts'
import type { Aggregate, Condition, FieldRef } from '../../model/plan.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { groupBy, maxGroups, tooManyGroups } from './groups.ts'
import type { FieldFacts } from './leaves.ts'
import { openSelection, type PackedSelection, partsOf } from './selections.ts'
import { sortNumbers } from './sort-records.ts'
import { rankedField } from './sums.ts'
import { openFacts, type PackedFacts } from './tasks.ts'
import { jsonAt, type PackedValues, Packer, typedValue } from './values.ts'

/** Rows of groups as a task: fields are positions in `facts`. */
export interface GroupTask {
  readonly count: number
  /** null: all records. */
  readonly selection: PackedSelection | null
  readonly facts: readonly (PackedFacts & { readonly ref: FieldRef })[]
  /** The facts of each column to group by; null: one group of all records. */
  readonly groups: readonly number[] | null
  readonly columns: readonly GroupColumn[]
  readonly having: Condition | null
  readonly distinct: boolean
  readonly order: readonly { readonly by: GroupValue; readonly descending: boolean }[]
  readonly offset: number
  readonly limit: number | null
}

type GroupValue =
  | { readonly kind: 'group'; readonly at: number }
  | { readonly kind: 'column'; readonly at: number }

export interface GroupColumn {
  readonly name: string
  readonly type: FieldType
  readonly value:
    | { readonly kind: 'group'; readonly at: number }
    | (Omit<Aggregate, 'field'> & { readonly facts: number | null })
}

/**
 * @returns the number of all rows, and those of the page
 */
export function groupRows(task: GroupTask): PackedRows {
  const { count, columns, distinct } = task
  const facts = task.facts.map(one => openFacts(one, count, null))
  const at = (place: number) => facts[place] as FieldFacts
  const keys = (task.groups ?? []).map(at)
  const selection = task.selection ? openSelection(task.selection) : undefined
  const grouping = groupBy(
    keys.map(({ column }) => column),
    selection,
    count,
  )
  const { size } = grouping
  const counting = countingRecords(size)
  const keyResults = keys.map((key, place) => keyResult(key, id => grouping.rankOf(place, id)))
  const accumulators = columns.map(({ value }) =>
    value.kind === 'group'
      ? undefined
      : value.facts === null
        ? counting
        : aggregates[value.name].fold(rankedField(at(value.facts), count), size, value.argument ?? ''),
  )
  const passOver = (taking: readonly Pick<Accumulator, 'take'>[]) => {
    for (const part of partsOf(selection, count)) {
      mayGoOn()
      const ids = grouping.idsIn(part)
      for (const one of taking) one.take(part, ids)
    }
  }
  passOver([...new Set([counting, ...accumulators])].filter(one => one !== undefined))
  const results = columns.map(({ value }, place) =>
    value.kind === 'group'
      ? (keyResults[value.at] as Result)
      : (accumulators[place] as Accumulator).result(one => passOver([one])),
  )
  /** `min` and `max` of a text field have the field's collation. */
  const collationOf = (type: FieldType, value: GroupColumn['value']) => {
    if (value.kind === 'group') return keys[value.at]?.collation
    return type === 'text' && value.facts !== null ? at(value.facts).collation : undefined
  }
  let ids = task.groups === null ? Uint32Array.of(0) : idsIn(counting.counts)
  if (task.having) {
    const described = columns.map(
      ({ name, type, value }): RowColumn => ({ name, type, collation: collationOf(type, value) }),
    )
    const test = madeBy(rowTests(described), task.having)
    ids = ids.filter(id => test(place => results[place]?.json(id) ?? 'null'))
  }
  const json = rowPrinter(columns, results)
  if (distinct) ids = uniqueIn(ids, json)
  const order = [
    ...task.order.map(({ by, descending }) => ({
      result: (by.kind === 'group' ? keyResults : results)[by.at] as Result,
      descending,
    })),
    ...(distinct ? results : keyResults).map(result => ({ result, descending: false })),
  ]
  const sorted = sortedIds(ids, order)
  mayGoOn()
  const end = task.limit === null ? sorted.length : Math.min(sorted.length, task.offset + task.limit)
  return packRows(sorted.length, Array.from(sorted.subarray(task.offset, end)), json)
}

interface RowColumn {
  readonly name: string
  readonly type: FieldType
  readonly collation: string | undefined
}

/** A test of a row. `json` reads the value of the column at a place. */
type RowTest = (json: (place: number) => string) => boolean

/** Makes tests of conditions whose fields name columns. */
const rowTests = (columns: readonly RowColumn[]): Engine<RowTest> => ({
  and: ({ of }, testFor) => {
    const tests = of.map(testFor)
    return json => tests.every(test => test(json))
  },
  or: ({ of }, testFor) => {
    const tests = of.map(testFor)
    return json => tests.some(test => test(json))
  },
  none: () => () => false,
  null: ({ field, negated }) => columnTest(columns, field, !negated, () => () => negated),
  value: condition => {
    const { field, negated } = condition
    return columnTest(columns, field, holdsIfMissing(condition), (type, collation) => {
      const test = testOf(condition, type, collation)
      return value => test(value) !== negated
    })
  },
  fields: refused,
  'in plan': refused,
  'in rows': refused,
  sample: refused,
  text: refused,
})

function refused(): never {
  throw new Error('rows can only be compared with constants')
}

function columnTest(
  columns: readonly RowColumn[],
  { name, path }: FieldRef,
  ifMissing: boolean,
  testFor: (type: FieldType, collation: string | undefined) => (value: unknown) => boolean,
): RowTest {
  const place = columns.findIndex(one => one.name === name)
  const column = columns[place]
  if (!column) throw new Error('a condition on rows names no column')
  const type = path.length > 0 ? 'json' : column.type
  const test = testFor(type, column.collation)
  return json => {
    const value = memberAt(typedValue(json(place), type), path)
    return value === undefined ? ifMissing : test(value)
  }
}

/** The numbers of the groups that have records. */
function idsIn(counts: Uint32Array): Uint32Array<ArrayBuffer> {
  const ids: number[] = []
  for (let id = 0; id < counts.length; id++) if (counts[id] !== 0) ids.push(id)
  if (ids.length > maxGroups) throw tooManyGroups()
  return Uint32Array.from(ids)
}

const keyResult = ({ column, values }: FieldFacts, rankOf: (id: number) => number): Result => ({
  json: id => {
    const rank = rankOf(id)
    return rank === column.distinct || !values ? 'null' : jsonAt(values, rank)
  },
  ranks: ids => ids.map(rankOf),
})

function rowPrinter(columns: readonly GroupColumn[], results: readonly Result[]): (id: number) => string {
  const names = columns.map(({ name }, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`)
  return id => {
    let row = ''
    for (let at = 0; at < names.length; at++) row += (names[at] as string) + (results[at] as Result).json(id)
    return `${row === '' ? '{' : row}}`
  }
}

function uniqueIn(ids: Uint32Array<ArrayBuffer>, json: (id: number) => string): Uint32Array<ArrayBuffer> {
  const met = new Set<string>()
  return ids.filter(id => {
    const row = json(id)
    return !met.has(row) && met.add(row) !== undefined
  })
}

function sortedIds(
  ids: Uint32Array,
  order: readonly { readonly result: Result; readonly descending: boolean }[],
): Uint32Array {
  const places = sharedNumbers(ids.length)
  for (let at = 0; at < places.length; at++) places[at] = at
  const sorted = sortNumbers(
    places,
    order.map(({ result, descending }) => ({ ranks: result.ranks(ids), descending })),
  )
  return sorted.map(place => ids[place] as number)
}

/** Rows as bytes: the number of all, the number on the page, and those, packed as values are. */
export type PackedRows = Uint8Array<SharedArrayBuffer>

const headBytes = 2 * Uint32Array.BYTES_PER_ELEMENT

function packRows(total: number, ids: readonly number[], json: (id: number) => string): PackedRows {
  const packer = new Packer(ids.length)
  for (const id of ids) packer.add(json(id))
  const values = packer.finish()
  const packed = sharedBytes(headBytes + values.length)
  new Uint32Array(packed.buffer, 0, 2).set([total, ids.length])
  packed.set(values, headBytes)
  return packed
}

export function openRows(packed: PackedRows): { total: number; length: number; rows: PackedValues } {
  const [total = 0, length = 0] = new Uint32Array(packed.buffer, packed.byteOffset, 2)
  return { total, length, rows: packed.subarray(headBytes) }
}
