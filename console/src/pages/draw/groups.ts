import { type Entity, type EntityField, type Json, loadRows } from '../../entities.ts'
import { type Amount, isAmount, printExactly } from '../../exact.ts'
import { t } from '../../i18n/i18n.ts'
import { type Aggregate, type Unit, units } from '../../query/operators.ts'
import { written } from '../../query/pql.ts'
import { asking } from '../../query/refused.ts'
import type { Requested } from '../../query/request-texts.ts'

/** A query for a drawing: a measure of the records, grouped by one axis or by each pair of values of two. */
export interface Asked {
  readonly entity: Entity
  readonly condition: string
  readonly by: Axis
  /** The axis of the groups within the groups. */
  readonly within?: Axis | undefined
  readonly measure: Measure
}

/** A field to group by. Times are grouped by a unit, and numbers by a width if there are many. */
export interface Axis {
  readonly field: EntityField
  readonly unit?: Unit | undefined
  readonly width?: number | undefined
}

/** A count of records, or a function of the values of a field. */
export type Measure = { readonly kind: 'count' } | { readonly kind: Aggregate; readonly field: EntityField }

/** A value that records are grouped by. Two with the same text differ in their keys, such as 1 and "1". */
export interface Place {
  readonly key: string
  readonly text: string
  readonly value: Json
}

export interface Group {
  readonly by: Place
  readonly within: Place | undefined
  /** null if there is no value to add up or to compare. */
  readonly value: Amount | null
  /** The number of records. */
  readonly records: number
}

export interface Groups {
  readonly groups: readonly Group[]
  /** The number of all groups, including those not loaded. */
  readonly total: number
}

/** Maximum numbers of groups loaded for names, for an axis to scale, and for pairs of values. */
const [mostNames, mostSteps, mostPairs] = [40, 2_000, 10_000]

/** True if the values of the axis have an order of their own. */
export const isOrdered = ({ field }: Axis): boolean => field.type !== 'text' && field.type !== 'boolean'

function shownBy({ field, unit, width }: Axis): string {
  const name = written(field.name)
  if (width !== undefined) return `${name} by ${width}`
  if (!unit) return name
  return units[unit] === null ? `${name} by ${unit}` : `to_string(${name}, "${units[unit]}")`
}

const shownMeasure = (measure: Measure) =>
  measure.kind === 'count' ? 'count()' : `${measure.kind}(${written(measure.field.name)})`

/** Writes the query as PQL, which users can take to the API. The number of records is always its last column. */
export function queryOf({ entity, condition, by, within, measure }: Asked): string {
  const columns = [shownBy(by), ...(within ? [shownBy(within)] : [])]
  const measured = [...new Set([shownMeasure(measure), 'count()'])]
  const order = within || (isOrdered(by) && by.field.type !== 'json') ? columns : [`${measured[0]} desc`]
  return [
    `${entity.name}[${[...columns, ...measured].join(', ')}] {`,
    condition,
    `group by ${columns.join(', ')}`,
    `order by ${order.join(', ')} }`,
  ]
    .filter(Boolean)
    .join(' ')
}

/** Returns what a drawing shows, as a request. */
export const requestOf = (asked: Asked): Requested => ({
  query: queryOf(asked),
  limit: asked.within ? mostPairs : isOrdered(asked.by) ? mostSteps : mostNames,
})

export async function loadGroups(asked: Asked, signal: AbortSignal): Promise<Groups> {
  const { query, limit } = requestOf(asked)
  const prefix = query.slice(0, query.indexOf('{') + 2)
  const { rows, total } = await asking(asked.entity, asked.condition, prefix, () =>
    loadRows(query, { limit, signal }),
  )
  const groups = rows.map((values): Group => {
    const value = values[asked.within ? 2 : 1]
    return {
      by: placeOf(values[0] ?? null, asked.by),
      within: asked.within && placeOf(values[1] ?? null, asked.within),
      value: isAmount(value) ? value : null,
      records: Number(values.at(-1)),
    }
  })
  return { groups, total }
}

function placeOf(value: Json, { unit, width }: Axis): Place {
  const key = printExactly(value)
  const place = (text: string): Place => ({ key, value, text })
  if (value === null) return place(t('null'))
  if (width !== undefined) {
    const [from, to] = [Number(value), endOf(Number(value), width)]
    return place(Number.isInteger(width) ? (width === 1 ? key : `${from}–${to - 1}`) : `${from} – ${to}`)
  }
  if (typeof value !== 'string') return place(key)
  return place(unit && units[unit] === null ? value.slice(0, 10) : value)
}

/** The end of a bucket, without the dust of binary fractions. */
export const endOf = (from: number, width: number): number => Number((from + width).toPrecision(14))

/**
 * Returns the condition in PQL that finds the records with a value of an axis.
 *
 * @returns undefined if PQL has no such condition: it can't compare a part of a time, nor an object
 */
export function conditionOf({ field, unit, width }: Axis, value: Json): string | undefined {
  const name = written(field.name)
  if (value === null) return `${name} is null`
  if (width !== undefined) return `${name} >= ${Number(value)} and ${name} < ${endOf(Number(value), width)}`
  if (unit) {
    const [from, to] = typeof value === 'string' ? (rangeOf(value, unit) ?? []) : []
    return from && to && `${name} >= "${from}" and ${name} < "${to}"`
  }
  if (typeof value === 'object') return undefined
  const isBare = field.type === 'integer' || field.type === 'number'
  return `${name} = ${isBare ? String(value) : printExactly(value)}`
}

/** Returns the condition that finds the records with none of these values, of which one may be null. */
export function othersOf(axis: Axis, values: readonly Json[]): string | undefined {
  const each = values.filter(one => one !== null).map(one => conditionOf(axis, one))
  if (each.includes(undefined)) return undefined
  const name = written(axis.field.name)
  const none = each.map(one => `!(${one})`).join(' and ')
  return values.includes(null) ? `${none} and ${name} is not null` : `(${name} is null or ${none})`
}

/** Returns the first moment of a year, a month or a day, and that of the next one. */
function rangeOf(name: string, unit: Unit): readonly [string, string] | undefined {
  const at = startOf(name, unit)
  if (at === undefined) return undefined
  const iso = (time: number) => new Date(time).toISOString().replace('.000Z', 'Z')
  return [iso(at), iso(next(at, unit, 1))]
}

/** Returns the first moment of a step of time in ms since 1970; undefined if the name is no such step. */
export function startOf(name: string, unit: Unit): number | undefined {
  const shape = {
    year: /^\d{4}$/,
    quarter: /^\d{4}-\d\d-\d\dT/,
    month: /^\d{4}-\d\d$/,
    week: /^\d{4}-\d\d-\d\dT/,
    day: /^\d{4}-\d\d-\d\d$/,
  }
  if (unit === 'weekday' || unit === 'hour' || !shape[unit].test(name)) return undefined
  const time = Date.parse(name.length > 10 ? name : `${name}${'-01-01'.slice(name.length - 4)}`)
  return Number.isNaN(time) ? undefined : time
}

/** Returns the first moment of the next step of time, or of the one before. */
export function next(at: number, unit: Unit, by: 1 | -1): number {
  const time = new Date(at)
  if (unit === 'year') time.setUTCFullYear(time.getUTCFullYear() + by)
  else if (unit === 'month' || unit === 'quarter')
    time.setUTCMonth(time.getUTCMonth() + by * (unit === 'quarter' ? 3 : 1))
  else time.setUTCDate(time.getUTCDate() + by * (unit === 'week' ? 7 : 1))
  return time.getTime()
}
