import { max, sum } from 'd3-array'
import { t } from '../../i18n/i18n.ts'
import type { Group } from './groups.ts'

/** Groups as a drawing needs them: names along the axis, and for each series a value at each name. */
export interface Drawn {
  readonly names: readonly string[]
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[]
  /** The highest value, and the highest of all series on top of each other. */
  readonly highest: number
  readonly stacked: number
}

/** As many as can be told apart; the rest are drawn as one. */
const mostSeries = 6

const label = (name: string | null) => name ?? t('null')

/** @param limit of the names; the most frequent stay, in the order in which they came */
export function drawnOf(groups: readonly Group[], measured: string, limit = Number.POSITIVE_INFINITY): Drawn {
  const all = [...new Set(groups.map(({ name }) => label(name)))]
  const totals = totalsBy(groups, one => label(one.name))
  const kept = new Set(all.toSorted((a, b) => (totals.get(b) ?? 0) - (totals.get(a) ?? 0)).slice(0, limit))
  const names = all.filter(name => kept.has(name))
  const isPaired = groups.some(({ within }) => within !== null)
  const cells = new Map<string, Map<string, number>>()
  const ranked = [...totalsBy(groups, one => label(one.within))]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name]) => name)
  const own = new Set(ranked.length > mostSeries ? ranked.slice(0, mostSeries - 1) : ranked)
  for (const { name, within, value } of groups) {
    const key = !isPaired ? measured : own.has(label(within)) ? label(within) : t('draw.others')
    const line = cells.get(key) ?? new Map<string, number>()
    line.set(label(name), (line.get(label(name)) ?? 0) + value)
    cells.set(key, line)
  }
  const order = isPaired ? [...own, t('draw.others')].filter(name => cells.has(name)) : [measured]
  const series = order.map(name => ({ name, values: names.map(one => cells.get(name)?.get(one) ?? 0) }))
  return {
    names,
    series,
    highest: max(series.flatMap(({ values }) => values)) ?? 0,
    stacked: max(names.map((_, at) => sum(series, ({ values }) => values[at] ?? 0))) ?? 0,
  }
}

function totalsBy(groups: readonly Group[], key: (group: Group) => string): Map<string, number> {
  const totals = new Map<string, number>()
  for (const one of groups) totals.set(key(one), (totals.get(key(one)) ?? 0) + one.value)
  return totals
}

export const colour = (at: number): string => `var(--series-${(at % mostSeries) + 1})`

/** Every how many-th name there is room for. */
export const every = (count: number, room: number, each: number): number =>
  Math.max(1, Math.ceil((count * each) / Math.max(1, room)))
