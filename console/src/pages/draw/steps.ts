import type { Json } from '../../entities.ts'
import { formatShort } from '../../i18n/i18n.ts'
import type { Unit } from '../../query/operators.ts'
import { bulkOf, quartilesOf } from '../../records/scale.ts'
import { type Axis, endOf, type Group, next, startOf } from './groups.ts'

/** An axis to scale: each value has its place, so that what has no records shows as a gap. */
export interface Steps {
  readonly isTime: boolean
  /** True if a value stands for all from its place to the next one, and not for its place alone. */
  readonly isRange: boolean
  /** Returns the place of a value: its number, or the first moment of a step of time in ms since 1970. */
  readonly at: (value: Json) => number | undefined
  /** The step after a place, or the one before it; undefined if numbers have no steps. */
  readonly next: ((at: number, by: 1 | -1) => number) | undefined
  /** Returns the text of a tick; undefined where the axis has none. */
  readonly tick: (at: number) => string | undefined
}

const numberIn = (value: Json): number | undefined =>
  typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined

/** Writes a number of an axis. Digits are not grouped in what may be a year. */
const shortly = (at: number) => (Number.isInteger(at) && Math.abs(at) < 10_000 ? String(at) : formatShort(at))

const numbers = (isWhole: boolean, at: Steps['at'] = numberIn): Steps => ({
  isTime: false,
  isRange: false,
  at,
  next: isWhole ? (place, by) => place + by : undefined,
  tick: place => (isWhole && !Number.isInteger(place) ? undefined : shortly(place)),
})

const buckets = (width: number): Steps => ({
  isTime: false,
  isRange: true,
  at: value => (value === null ? undefined : Number(value)),
  next: (place, by) => endOf(place, by * width),
  tick: shortly,
})

const times = (unit: TimeUnit): Steps => ({
  isTime: true,
  isRange: true,
  at: value => (typeof value === 'string' ? startOf(value, unit) : undefined),
  next: (at, by) => next(at, unit, by),
  tick: at => {
    const day = new Date(at).toISOString()
    if (day.slice(4) === '-01-01T00:00:00.000Z') return day.slice(0, 4)
    if (unit !== 'year' && day.slice(7) === '-01T00:00:00.000Z') return day.slice(0, 7)
    return (unit === 'day' || unit === 'week') && day.slice(10) === 'T00:00:00.000Z'
      ? day.slice(0, 10)
      : undefined
  },
})

type TimeUnit = Exclude<Unit, 'weekday' | 'hour'>
const isOfTime = (unit: Unit): unit is TimeUnit => unit !== 'weekday' && unit !== 'hour'

/** Returns the steps of an axis; undefined if its values are names. JSON counts as numbers if most of it is. */
export function stepsOf({ field, unit, width }: Axis, groups: readonly Group[]): Steps | undefined {
  if (unit)
    return isOfTime(unit)
      ? times(unit)
      : numbers(true, value => (typeof value === 'string' ? Number(value) : undefined))
  if (width !== undefined) return buckets(width)
  if (field.type === 'integer') return numbers(true)
  if (field.type === 'number') return numbers(false, value => (value === null ? undefined : Number(value)))
  if (field.type !== 'json') return undefined
  const [all, some] = [groups, groups.filter(one => numberIn(one.by.value) !== undefined)].map(list =>
    list.reduce((sum, one) => sum + (one.by.value === null ? 0 : one.records), 0),
  )
  if (!some || some * 2 < (all ?? 0)) return undefined
  return numbers(groups.every(one => Number.isInteger(numberIn(one.by.value) ?? 0)))
}

/**
 * Returns an axis that leaves out values so far from the others that they would squeeze them together, and the
 * number of records left out.
 */
export function nearOf(steps: Steps, groups: readonly Group[]): readonly [near: Steps, far: number] {
  const placed = groups
    .flatMap(({ by, records }) => {
      const place = steps.at(by.value)
      return place === undefined ? [] : [[place, records] as const]
    })
    .toSorted(([a], [b]) => a - b)
  const [low, high] = [placed[0]?.[0] ?? 0, placed.at(-1)?.[0] ?? 0]
  const [from, to] = bulkOf(low, high, quartilesOf(placed))
  const isFar = (place: number) => place < from || place > to
  const far = placed.reduce((sum, [place, records]) => sum + (isFar(place) ? records : 0), 0)
  const at: Steps['at'] = value => {
    const place = steps.at(value)
    return place === undefined || isFar(place) ? undefined : place
  }
  return [far === 0 ? steps : { ...steps, at }, far]
}

/** Returns the extent of a step. A number without steps has none. */
export function spanOf({ isRange, next: following }: Steps, at: number): readonly [number, number] {
  if (!following) return [at, at]
  return isRange ? [at, following(at, 1)] : [at - 0.5, at + 0.5]
}

/** Returns the place in the middle of a step, where its point is. */
export const middleOf = (steps: Steps, at: number): number => {
  const [from, to] = spanOf(steps, at)
  return (from + to) / 2
}
