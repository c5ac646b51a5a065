import { service } from '../../api.ts'
import { type Entity, type EntityField, type Json, pathOf } from '../../entities.ts'
import { type Amount, isAmount, printExactly, readExactly } from '../../exact.ts'
import { written } from '../entity/pql.ts'
import { asking } from '../entity/refused.ts'
import type { Requested } from '../request/texts.ts'

/** A query for a drawing: a measure of the records, grouped by one axis or by each pair of values of two. */
export interface Asked {
  readonly entity: Entity
  readonly condition: string
  readonly by: Axis
  /** The axis of the groups within the groups. */
  readonly within?: Axis | undefined
  readonly measure: Measure
}

/** A field to group by. Times are grouped by a unit. */
export interface Axis {
  readonly field: EntityField
  readonly unit?: Unit | undefined
}

export const units = {
  year: 'YYYY',
  month: 'YYYY-MM',
  day: 'YYYY-MM-DD',
  weekday: 'ID',
  hour: 'HH24',
} as const
export type Unit = keyof typeof units

/** A count of records, or a function of the values of a field. */
export type Measure =
  | { readonly kind: 'count' }
  | { readonly kind: 'count_distinct' | 'sum' | 'avg' | 'min' | 'max'; readonly field: EntityField }

export interface Group {
  readonly name: string | null
  readonly within: string | null
  /** null if there is no value to add up or to compare. */
  readonly value: Amount | null
}

export interface Groups {
  readonly groups: readonly Group[]
  /** The number of all groups, including those not loaded. */
  readonly total: number
}

/**
 * Maximum number of groups loaded. More bars would be unreadable, but an axis of time is ordered and takes
 * more.
 */
export const mostGroups = 40
const mostTimes = 400
const mostPairs = 2_000

export const isOrdered = ({ field }: Axis): boolean =>
  field.type !== 'text' && field.type !== 'json' && field.type !== 'boolean'

const shownBy = ({ field, unit }: Axis) =>
  field.type === 'date-time'
    ? `to_string(${written(field.name)}, "${units[unit ?? 'year']}")`
    : written(field.name)

const shownMeasure = (measure: Measure) =>
  measure.kind === 'count' ? 'count()' : `${measure.kind}(${written(measure.field.name)})`

/** Writes the query as PQL, which users can take to the API. */
export function queryOf({ entity, condition, by, within, measure }: Asked): string {
  const columns = [shownBy(by), ...(within ? [shownBy(within)] : [])]
  const order = within || isOrdered(by) ? columns : [`${shownMeasure(measure)} desc`]
  return [
    `${entity.name}[${[...columns, shownMeasure(measure)].join(', ')}] {`,
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
  limit: asked.within ? mostPairs : isOrdered(asked.by) ? mostTimes : mostGroups,
})

export async function loadGroups(asked: Asked, signal: AbortSignal): Promise<Groups> {
  const { query, limit } = requestOf(asked)
  const parameters = { query, limit, include_total: true }
  const prefix = query.slice(0, query.indexOf('{') + 2)
  const response = await asking(asked.entity, asked.condition, prefix, () =>
    service.value.request('GET', pathOf(), { query: parameters, signal }),
  )
  const rows = readExactly(await response.text()) as readonly Readonly<Record<string, Json>>[]
  const groups = rows.map((row): Group => {
    // The columns have the order of the query, whatever their names are.
    const values = Object.values(row)
    const value = values.at(-1)
    return {
      name: nameOf(values[0]),
      within: asked.within ? nameOf(values[1]) : null,
      value: isAmount(value) ? value : null,
    }
  })
  return { groups, total: Number(response.headers.get('x-records')) }
}

const nameOf = (value: Json | undefined): string | null =>
  value === null || value === undefined
    ? null
    : typeof value === 'object'
      ? printExactly(value)
      : String(value)
