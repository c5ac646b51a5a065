import { max, min } from 'd3-array'
import { type Amount, addExactly } from '../../exact.ts'
import { formatNumber, t } from '../../i18n/i18n.ts'
import type { Axis, Group, Measure } from './groups.ts'
import { stepsOf } from './steps.ts'

/** Groups arranged for a drawing: names along the axis, and series with a value for each name. */
export interface Drawn {
  readonly names: readonly string[]
  readonly series: readonly Series[]
  /** The sum of the values of each name; it means something only if `isStacked`. */
  readonly totals: readonly (Amount | null)[]
  /** True if the series are stacked, because their sum means something. */
  readonly isStacked: boolean
  /** The lowest and the highest value to be drawn; zero is always in between. */
  readonly extent: readonly [number, number]
  /** The number of groups drawn. */
  readonly count: number
  /** True if the axis has a place for each step, with or without records. */
  readonly isWhole: boolean
}

export interface Series {
  readonly name: string
  readonly values: readonly (Amount | null)[]
}

/**
 * Maximum number of series that can be told apart. If values can be added up, all further series become one.
 */
const mostSeries = 6

const others = () => t('draw.others')

export const label = (name: string | null): string => name ?? t('null')

export const written = (value: Amount | null): string => (value === null ? t('null') : formatNumber(value))

interface Wanted {
  /** The name of the series if there is only one. */
  readonly measured: string
  readonly measure: Measure['kind']
  /** Maximum number of names. Those with the highest values stay, in their original order. */
  readonly limit?: number
  /** The field of the names if they have an order of their own. */
  readonly axis?: Axis
}

export function drawnOf(groups: readonly Group[], { measured, measure, limit, axis }: Wanted): Drawn {
  // Averages, minima and maxima can't be added up.
  const adds = measure === 'count' || measure === 'sum'
  const kept = keptOf(groups, one => label(one.name), limit)
  const steps = axis ? stepsOf(kept, axis) : { all: kept, isWhole: true }
  const names = steps.all
  const isKept = new Set(kept)
  const isPaired = groups.some(({ within }) => within !== null)
  const ranked = [...totalsBy(groups, one => label(one.within))]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name]) => name)
  const tooMany = isPaired && ranked.length > mostSeries
  const own = new Set(tooMany ? ranked.slice(0, adds ? mostSeries - 1 : mostSeries) : ranked)
  const cells = new Map<string, Map<string, Amount | null>>()
  let count = 0
  for (const { name, within, value } of groups) {
    const isOwn = own.has(label(within))
    if (!isKept.has(label(name)) || (isPaired && !isOwn && !adds)) continue
    count++
    const key = !isPaired ? measured : isOwn ? label(within) : others()
    const line = cells.get(key) ?? new Map<string, Amount | null>()
    line.set(label(name), plus(line.get(label(name)) ?? null, value))
    cells.set(key, line)
  }
  const order = isPaired ? [...own, others()].filter(name => cells.has(name)) : [measured]
  // A missing group has no records: the count is 0, and there is no sum or average.
  const missing = measure === 'count' ? 0 : null
  const series = order.map(name => {
    const line = cells.get(name)
    return { name, values: names.map(one => (line?.has(one) ? (line.get(one) ?? null) : missing)) }
  })
  const isStacked = adds || series.length === 1
  const columns = names.map((_, at) => series.map(({ values }) => values[at] ?? null))
  const ends = columns.flatMap(column => spansOf(column, isStacked).flat())
  return {
    names,
    series,
    totals: columns.map(column => column.reduce(plus, null)),
    isStacked,
    extent: [min(ends) ?? 0, max(ends) ?? 0],
    count,
    isWhole: steps.isWhole,
  }
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

function totalsBy(groups: readonly Group[], key: (group: Group) => string): Map<string, number> {
  const totals = new Map<string, number>()
  for (const one of groups)
    totals.set(key(one), (totals.get(key(one)) ?? 0) + Math.abs(Number(one.value ?? 0)))
  return totals
}

/**
 * Returns the names of the groups in their original order. Above the limit, those with the highest values
 * stay.
 */
export function keptOf(
  groups: readonly Group[],
  key: (group: Group) => string,
  limit = Number.POSITIVE_INFINITY,
): readonly string[] {
  const totals = totalsBy(groups, key)
  const all = [...totals.keys()]
  if (all.length <= limit) return all
  const kept = new Set(all.toSorted((a, b) => (totals.get(b) ?? 0) - (totals.get(a) ?? 0)).slice(0, limit))
  return all.filter(name => kept.has(name))
}

/** Returns the color of a series. The remaining series, put together, have a neutral one. */
export const colour = (at: number, name?: string): string =>
  name === others() ? 'var(--series-others)' : `var(--series-${(at % mostSeries) + 1})`

/** Returns n such that there is room for every n-th name. */
export const every = (count: number, room: number, each: number): number =>
  Math.max(1, Math.ceil((count * each) / Math.max(1, room)))
