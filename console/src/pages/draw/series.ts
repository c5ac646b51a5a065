import { max, min } from 'd3-array'
import { type Amount, addExactly } from '../../exact.ts'
import { formatNumber, t } from '../../i18n/i18n.ts'
import type { Group, Measure, Place } from './groups.ts'
import type { Steps } from './steps.ts'

/** Groups arranged for a drawing: places along the axis, and series with a value for each. */
export interface Drawn {
  readonly places: readonly Place[]
  readonly series: readonly Series[]
  /** The sum of the values of each place; it means something only if `isStacked`. */
  readonly totals: readonly (Amount | null)[]
  /** True if the series are stacked, because their sum means something. */
  readonly isStacked: boolean
  /** The number of groups drawn, and the number of records in those that have no place on the axis. */
  readonly count: number
  readonly unplaced: number
}

export interface Series {
  readonly name: string
  /** The value of the series; undefined if there is only one, or if all others are put together. */
  readonly place: Place | undefined
  readonly colour: string
  readonly values: readonly (Amount | null)[]
}

/**
 * Maximum number of series that can be told apart. If values can be added up, all further series become one.
 */
const mostSeries = 6

export const written = (value: Amount | null): string => (value === null ? t('null') : formatNumber(value))

/** True if values of the measure can be added up. Averages, minima and maxima can't. */
export const addsUp = (measure: Measure['kind']): boolean => measure === 'count' || measure === 'sum'

interface Wanted {
  /** The name of the series if there is only one. */
  readonly measured: string
  readonly measure: Measure['kind']
  /** Maximum number of places. Those with the highest values stay, in their original order. */
  readonly limit?: number
  readonly steps: Steps | undefined
  /** True if series stand side by side even if they can be added up. */
  readonly isApart: boolean
}

export function drawnOf(groups: readonly Group[], wanted: Wanted): Drawn {
  const { measured, measure, limit, steps, isApart } = wanted
  const adds = addsUp(measure)
  const placed = steps ? groups.filter(one => steps.at(one.by.value) !== undefined) : groups
  const kept = keptOf(placed, one => one.by, limit)
  const places = steps ? inOrder(kept, steps) : kept
  const isPaired = groups.some(({ within }) => within)
  const ranked = isPaired ? keptOf(placed, one => one.within) : []
  const totals = totalsBy(placed, one => one.within)
  const byValue = ranked.toSorted((a, b) => (totals.get(b.key) ?? 0) - (totals.get(a.key) ?? 0))
  const own = byValue.slice(0, byValue.length > mostSeries && adds ? mostSeries - 1 : mostSeries)
  const lines = new Map<string | undefined, Map<string, Amount | null>>(own.map(one => [one.key, new Map()]))
  const isKept = new Set(places.map(({ key }) => key))
  let count = 0
  for (const { by, within, value } of placed) {
    const isOwn = within !== undefined && lines.has(within.key)
    if (!isKept.has(by.key) || (isPaired && !isOwn && !adds)) continue
    count++
    // Under no key is the only series, or the one of all others.
    const key = isOwn ? within.key : undefined
    const line = lines.get(key) ?? new Map<string, Amount | null>()
    line.set(by.key, plus(line.get(by.key) ?? null, value))
    lines.set(key, line)
  }
  // A missing group has no records: the count is 0, and there is no sum or average.
  const missing = measure === 'count' ? 0 : null
  const series = [...lines].map(([key, line], at): Series => {
    const place = own.find(one => one.key === key)
    return {
      name: place?.text ?? (isPaired ? t('draw.others') : measured),
      place,
      colour: isPaired && !place ? 'var(--series-others)' : `var(--series-${at + 1})`,
      values: places.map(one => (line.has(one.key) ? (line.get(one.key) ?? null) : missing)),
    }
  })
  const columns = places.map((_, at) => series.map(({ values }) => values[at] ?? null))
  return {
    places,
    series,
    totals: columns.map(column => column.reduce(plus, null)),
    isStacked: (adds && !isApart) || series.length === 1,
    count,
    unplaced: groups.reduce((sum, one) => sum + (placed.includes(one) ? 0 : one.records), 0),
  }
}

const inOrder = (places: readonly Place[], steps: Steps): readonly Place[] =>
  places.toSorted((a, b) => (steps.at(a.value) ?? 0) - (steps.at(b.value) ?? 0))

/** Returns the lowest and the highest value of a drawing, where stacked values build on each other. */
export function extentOf({ series, places, isStacked }: Drawn): readonly [number, number] {
  const ends = places.flatMap((_, at) =>
    spansOf(
      series.map(({ values }) => values[at] ?? null),
      isStacked,
    ).flat(),
  )
  return [min(ends) ?? 0, max(ends) ?? 0]
}

/**
 * Returns the start and the end of each value of a column. Stacked values build on each other, negative ones
 * downwards.
 */
export function spansOf(
  values: readonly (Amount | null)[],
  isStacked: boolean,
): readonly (readonly [number, number])[] {
  let [up, down] = [0, 0]
  return values.map(one => {
    const value = Number(one ?? 0)
    if (!isStacked) return [0, value]
    const from = value < 0 ? down : up
    if (value < 0) down += value
    else up += value
    return [from, from + value]
  })
}

const plus = (one: Amount | null, other: Amount | null): Amount | null =>
  one === null ? other : other === null ? one : addExactly(one, other)

type Pick = (group: Group) => Place | undefined

function totalsBy(groups: readonly Group[], pick: Pick): Map<string, number> {
  const totals = new Map<string, number>()
  for (const one of groups) {
    const key = pick(one)?.key ?? ''
    totals.set(key, (totals.get(key) ?? 0) + Math.abs(Number(one.value ?? 0)))
  }
  return totals
}

/**
 * Returns the places of the groups in their original order. Above the limit, those with the highest values
 * stay.
 */
export function keptOf(
  groups: readonly Group[],
  pick: Pick,
  limit = Number.POSITIVE_INFINITY,
): readonly Place[] {
  const places = new Map(groups.flatMap(one => pick(one) ?? []).map(place => [place.key, place]))
  if (places.size <= limit) return [...places.values()]
  const totals = totalsBy(groups, pick)
  const kept = new Set(
    [...places.keys()].toSorted((a, b) => (totals.get(b) ?? 0) - (totals.get(a) ?? 0)).slice(0, limit),
  )
  return [...places.values()].filter(({ key }) => kept.has(key))
}
