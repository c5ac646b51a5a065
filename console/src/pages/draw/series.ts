import { max, min } from 'd3-array'
import { type Amount, addExactly } from '../../exact.ts'
import { formatNumber, t } from '../../i18n/i18n.ts'
import type { Axis, Group, Measure } from './groups.ts'
import { stepsOf } from './steps.ts'

/** Groups as a drawing needs them: names along the axis, and for each series a value at each name. */
export interface Drawn {
  readonly names: readonly string[]
  readonly series: readonly Series[]
  /** Of each name, whether parts can be added up or there is only one. */
  readonly totals: readonly (Amount | null)[]
  /** Series stand on top of each other: their values make a sum that means something. */
  readonly isStacked: boolean
  /** What has to have room, from the lowest to the highest; zero is always in it. */
  readonly extent: readonly [number, number]
  /** The number of groups that are drawn. */
  readonly count: number
  /** The axis has a place for each step, whether there are records or not. */
  readonly isWhole: boolean
}

export interface Series {
  readonly name: string
  readonly values: readonly (Amount | null)[]
}

/** As many as can be told apart; of what can be added up, the rest are drawn as one. */
const mostSeries = 6

const others = () => t('draw.others')

export const label = (name: string | null): string => name ?? t('null')

export const written = (value: Amount | null): string => (value === null ? t('null') : formatNumber(value))

interface Wanted {
  /** What the only series is called. */
  readonly measured: string
  readonly measure: Measure['kind']
  /** Of the names; the highest stay, in the order in which they came. */
  readonly limit?: number
  /** The field of the names, if they have an order of their own. */
  readonly axis?: Axis
}

export function drawnOf(groups: readonly Group[], { measured, measure, limit, axis }: Wanted): Drawn {
  // Averages can't be added up.
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
  // Where there is no group, there is no record: a count of none, and nothing to take a sum or an average of.
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

/** Where each value of a column begins and ends: on top of each other, negative ones downwards, or each from zero. */
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

/** What groups are called, in the order in which they came; of more than there may be, those of the highest values. */
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

/** The rest, put together, is no group of its own, and has no colour of one. */
export const colour = (at: number, name?: string): string =>
  name === others() ? 'var(--series-others)' : `var(--series-${(at % mostSeries) + 1})`

/** Every how many-th name there is room for. */
export const every = (count: number, room: number, each: number): number =>
  Math.max(1, Math.ceil((count * each) / Math.max(1, room)))
