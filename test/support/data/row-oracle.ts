import type { Aggregate, Plan, Rows, Scalar } from '../../../src/model/plan.ts'
import { matches, type PlainRecord, valueIn } from './condition-oracle.ts'
import { compareValues } from './oracle.ts'

/** What rows show, a second time and in the plainest way. Values are compared as JSON texts. */
type Row = readonly unknown[]

/** @returns the rows of a plan, whatever its page */
export function rowsOf(plan: Plan, records: readonly PlainRecord[]): PlainRecord[] {
  const shape = plan.shape as Rows
  const { where } = plan
  const found = where ? records.filter(record => matches(where, record, innerRows(records))) : records
  const isAggregate = shape.columns.some(({ value }) => value.kind === 'aggregate')
  const isGrouped = shape.groups !== null || isAggregate
  /** Of objects that differ in the order of their members, the one whose JSON comes first stands for all. */
  const read = (scalar: Scalar, record: PlainRecord) => {
    const value = written(scalar, record)
    const isMerged = (isGrouped || shape.distinct) && typeof value === 'object' && value !== null
    return isMerged
      ? firstOf(
          value,
          records.map(one => written(scalar, one)),
        )
      : value
  }
  const groups = isGrouped
    ? grouped(shape.groups ?? [], found, shape.groups === null)
    : found.map(record => [record])
  const made = groups.map(group => ({
    group,
    row: shape.columns.map(({ value }) =>
      value.kind === 'aggregate' ? aggregate(value, group) : read(value, group[0] as PlainRecord),
    ),
  }))
  const kept = made.filter(({ row }) => !shape.having || matches(shape.having, object(shape, row)))
  const listed = shape.distinct ? unique(shape, kept) : kept
  const order = shape.order.map(({ by, descending }) => ({
    descending,
    type: typeof by === 'number' ? (shape.columns[by]?.type ?? 'text') : typeOf(by),
    read: ({ group, row }: (typeof made)[number]) =>
      typeof by === 'number' ? row[by] : read(by, group[0] as PlainRecord),
  }))
  const ties = shape.distinct
    ? shape.columns.map(({ type }, at) => ({
        descending: false,
        type,
        read: (one: { row: Row }) => one.row[at],
      }))
    : (shape.groups ?? []).map(scalar => ({
        descending: false,
        type: typeOf(scalar),
        read: ({ group }: (typeof made)[number]) => read(scalar, group[0] as PlainRecord),
      }))
  const sorted = listed.toSorted((one, other) => {
    for (const { descending, type, read } of [...order, ...ties]) {
      const compared = compareNullable(type, read(one), read(other)) * (descending ? -1 : 1)
      if (compared !== 0) return compared
    }
    return 0
  })
  if (!isGrouped && !shape.distinct) return sorted.map(({ row }) => object(shape, row))
  // Of values that are equal but written differently, a group shows the one of the first of all records.
  const shown = (value: unknown, at: number) => {
    const { value: from, type } = shape.columns[at] as Rows['columns'][number]
    if (type !== 'date-time' || !('field' in from) || from.field === null) return value
    const { field } = from
    const all = records.map(record => valueIn(record, field))
    return all.find(one => same(type, one, value)) ?? value
  }
  return sorted.map(({ row }) => object(shape, row.map(shown)))
}

/** Of plans on the same records. */
export const innerRows =
  (records: readonly PlainRecord[]) =>
  (plan: Plan): unknown[][] => {
    const rows = rowsOf(plan, records).map(row => Object.values(row))
    const { offset, limit } = plan.page
    return rows.slice(offset, limit === null ? undefined : offset + limit)
  }

const object = ({ columns }: Rows, row: Row): PlainRecord =>
  Object.fromEntries(columns.map(({ name }, at) => [name, row[at]]))

const typeOf = (scalar: Scalar) => ('field' in scalar ? scalar.field.type : 'text')

const firstOf = (value: unknown, all: readonly unknown[]) =>
  all.filter(one => same('json', one, value)).toSorted((one, other) => compareNullable('json', one, other))[0]

function written(scalar: Scalar, record: PlainRecord): unknown {
  if (scalar.kind !== 'field') throw new Error('the oracle reads only fields')
  return valueIn(record, scalar.field)
}

/** Values are equal where they compare as equal, and objects in any order of their members. */
function same(type: ReturnType<typeof typeOf>, one: unknown, other: unknown): boolean {
  if (type === 'json') return JSON.stringify(inOrder(one)) === JSON.stringify(inOrder(other))
  return compareNullable(type, one, other) === 0
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, inOrder(member)] as const)
  return Object.fromEntries(members.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function compareNullable(type: ReturnType<typeof typeOf>, one: unknown, other: unknown): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  return compareValues(type, JSON.stringify(one), JSON.stringify(other))
}

function grouped(by: readonly Scalar[], records: readonly PlainRecord[], isOne: boolean): PlainRecord[][] {
  if (isOne) return [[...records]]
  const groups: PlainRecord[][] = []
  for (const record of records) {
    const group = groups.find(([first]) =>
      by.every(scalar =>
        same(typeOf(scalar), written(scalar, first as PlainRecord), written(scalar, record)),
      ),
    )
    if (group) group.push(record)
    else groups.push([record])
  }
  return groups
}

function unique<T extends { readonly row: Row }>(shape: Rows, rows: readonly T[]): T[] {
  const met: T[] = []
  for (const one of rows)
    if (!met.some(({ row }) => shape.columns.every(({ type }, at) => same(type, row[at], one.row[at]))))
      met.push(one)
  return met
}

function aggregate({ name, field }: Aggregate, group: readonly PlainRecord[]): unknown {
  if (!field) return group.length
  const values = group.map(record => valueIn(record, field)).filter(value => value !== null)
  if (name === 'count') return values.length
  const sorted = values.toSorted((one, other) => compareNullable(field.type, one, other))
  const distinct = sorted.filter((one, at) => sorted.findIndex(other => same(field.type, other, one)) === at)
  if (name === 'count_distinct') return distinct.length
  const counted = field.type === 'json' ? sorted.filter(value => typeof value === 'number') : sorted
  if (counted.length === 0) return null
  if (name === 'min') return first(counted, values, field.type)
  if (name === 'max') return first(counted.toReversed(), values, field.type)
  const sum = counted.reduce<number>((before, value) => before + Number(value), 0)
  return name === 'sum' ? sum : sum / counted.length
}

const first = (sorted: readonly unknown[], values: readonly unknown[], type: ReturnType<typeof typeOf>) =>
  values.find(value => same(type, value, sorted[0]))
