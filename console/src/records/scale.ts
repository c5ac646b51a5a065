import type { EntityField } from '../entities.ts'
import type { Amount } from '../exact.ts'
import { written } from '../query/pql.ts'
import type { Bound } from '../query/requirements.ts'

/**
 * The scale of a histogram: numbers, or times in ms since 1970, cut into steps of equal size. The end of a
 * range is the first place behind it, so that ranges meet without gaps.
 */
export interface Scale {
  /** The ends of all steps; one more than there are steps. */
  readonly edges: readonly number[]
  /** The column that is grouped, in PQL. */
  readonly column: string
  /** Returns the place of a value of that column. */
  readonly placeOf: (value: unknown) => number
  /** Writes an end of a range as people do; the second end as the last value inside. */
  readonly print: (place: number, isEnd: boolean) => string
  /** @returns undefined if the text is no value */
  readonly parse: (text: string, isEnd: boolean) => number | undefined
  readonly boundsOf: (from: number | undefined, to: number | undefined) => readonly Bound[]
  readonly read: (bounds: readonly Bound[]) => Range
  /** True if the first or the last step is longer than the others, and has all that lies far below or above. */
  readonly isOpen: readonly [below: boolean, above: boolean]
}

/** Returns the condition of what lies far below (0) or far above (1) the others. */
export const farBounds = ({ edges, boundsOf }: Scale, side: 0 | 1): readonly Bound[] =>
  boundsOf(edges[side === 0 ? 1 : edges.length - 2], undefined).map(({ value }) => ({
    sign: side === 0 ? '<' : '>=',
    value,
  }))

/** Both ends of a range; an end that is undefined is open. */
export type Range = readonly [from: number | undefined, to: number | undefined]

/** Maximum number of steps; more could not be told apart beside a table. */
const mostSteps = 30
/** Digits behind the point of an end of a range. */
const digits = 9
const day = 86_400_000

/** A field with the smallest and the largest of its values. */
interface Span {
  readonly field: EntityField
  readonly min?: Amount
  readonly max?: Amount
  /** The places between which all but a few far values lie, if there are such. */
  readonly bulk?: Bulk | undefined
}

type Bulk = readonly [from: number, to: number]

/** Distance of Tukey's outer fences from the middle half of the values, as a multiple of its width. */
const fence = 3

/**
 * Returns where the bulk of values ends on either side. An end that is far away would leave more than half of
 * the scale to few values, and press all others together; the scale ends at the fence then.
 */
export function bulkOf(low: number, high: number, quartiles: readonly [number, number] | undefined): Bulk {
  if (!quartiles || !(quartiles[1] > quartiles[0])) return [low, high]
  const beyond = (quartiles[1] - quartiles[0]) * fence
  const [from, to] = [Math.max(low, quartiles[0] - beyond), Math.min(high, quartiles[1] + beyond)]
  const room = to - from
  return [from - low > room ? from : low, high - to > room ? to : high]
}

/** @returns the quartiles of values, each with its number, in ascending order */
export function quartilesOf(
  pairs: readonly (readonly [value: number, count: number])[],
): readonly [number, number] | undefined {
  const all = pairs.reduce((sum, [, count]) => sum + count, 0)
  const at = (part: number) => {
    let passed = 0
    return pairs.find(([, count]) => {
      passed += count
      return passed >= all * part
    })?.[0]
  }
  const [lower, upper] = [at(0.25), at(0.75)]
  return lower === undefined || upper === undefined ? undefined : [lower, upper]
}

/** @returns undefined if there is nothing to cut into steps, or if the numbers are too large to be exact */
export function scaleOf(span: Span): Scale | undefined {
  const { field, min, max, bulk } = span
  if (min === undefined || max === undefined) return undefined
  if (field.type === 'date-time')
    return timesBetween(field.name, Date.parse(String(min)), Date.parse(String(max)), bulk)
  const [low, high] = [Number(min), Number(max)]
  const isFine = high - low < 10 ** (2 - digits)
  if (!(high > low) || isFine || Math.max(Math.abs(low), Math.abs(high)) > Number.MAX_SAFE_INTEGER)
    return undefined
  return numbersBetween(field.name, low, high, [min, max].every(isWhole), bulk)
}

/** Returns the steps as bars. A far one has all that lies far below or above the others, and is not to scale. */
export const barsOf = ({ edges, print, isOpen }: Scale, steps: readonly number[]) =>
  steps.map((count, at) => {
    const [from, to] = [print(edges[at] ?? 0, false), print(edges[at + 1] ?? 0, true)]
    const isFar = (at === 0 && isOpen[0]) || (at === steps.length - 1 && isOpen[1])
    return { text: from === to ? from : `${from}–${to}`, count, isFar }
  })

const isWhole = (value: Amount) => Number.isInteger(Number(value))

/** Returns the next of 1, 2, 5, 10, 20 … that is not below a number. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  const factor = [1, 2, 5].find(one => one * power >= least * 0.999_999) ?? 10
  return Number((factor * power).toPrecision(2))
}

function edgesBetween(low: number, high: number, step: number): readonly number[] {
  const first = Math.floor(low / step)
  const count = Math.max(1, Math.floor(high / step) - first + 1)
  // A multiple of the step, without the error that adding up steps would make.
  return Array.from({ length: count + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)))
}

/** Adds a step at an end that lies far away. */
const opened = (edges: readonly number[], low: number, behind: number): Pick<Scale, 'edges' | 'isOpen'> => {
  const isOpen = [low < (edges[0] ?? low), behind > (edges.at(-1) ?? behind)] as const
  return { edges: [...(isOpen[0] ? [low] : []), ...edges, ...(isOpen[1] ? [behind] : [])], isOpen }
}

function numbersBetween(
  name: string,
  low: number,
  high: number,
  areWhole: boolean,
  [from, to]: Bulk = [low, high],
): Scale {
  const least = (to - from) / mostSteps
  const step = areWhole ? Math.max(1, roundStep(least)) : roundStep(least)
  const behind = areWhole ? 1 : 0
  const numberIn = (bound: Bound | undefined) => {
    const value = Number(bound?.value)
    return Number.isNaN(value) ? undefined : value
  }
  return {
    ...opened(edgesBetween(from, to, step), low, high + behind),
    column: `${written(name)} by ${decimal(step)}`,
    placeOf: value => (typeof value === 'number' || typeof value === 'bigint' ? Number(value) : Number.NaN),
    print: (place, isEnd) => decimal(isEnd ? place - behind : place),
    parse: (text, isEnd) => {
      const value = Number(text)
      return text.trim() === '' || !Number.isFinite(value) ? undefined : isEnd ? value + behind : value
    },
    boundsOf: (from, to) => [
      ...(from === undefined ? [] : [{ sign: '>=' as const, value: decimal(from) }]),
      ...(to === undefined ? [] : [{ sign: '<=' as const, value: decimal(to - behind) }]),
    ],
    read: bounds => {
      const lower = bounds.find(({ sign }) => sign.startsWith('>'))
      const upper = bounds.find(({ sign }) => sign.startsWith('<'))
      const [from, to] = [numberIn(lower), numberIn(upper)]
      return [
        from === undefined ? undefined : lower?.sign === '>' ? from + behind : from,
        to === undefined ? undefined : upper?.sign === '<=' ? to + behind : to,
      ]
    },
  }
}

/** Writes a number without an exponent, which PQL doesn't read behind a whole number. */
export const decimal = (value: number) => value.toFixed(digits).replace(/\.?0+$/, '')

/** Steps of time: years, months or days. */
type Unit = readonly [bucket: string, months: number, length: number]
const units: readonly Unit[] = [
  ['day', 0, day],
  ['month', 1, 30.4 * day],
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((years): Unit => ['year', 12 * years, 365.25 * years * day]),
]

function timesBetween(
  name: string,
  low: number,
  high: number,
  [from, to]: Bulk = [low, high],
): Scale | undefined {
  if (!(high >= low)) return undefined
  const [bucket, months] = units.find(([, , length]) => (to - from) / length <= mostSteps) ??
    units.at(-1) ?? ['year', 12]
  const start = new Date(from)
  const edges: number[] = []
  const first =
    months === 0 ? 0 : Math.floor((start.getUTCFullYear() * 12 + start.getUTCMonth()) / months) * months
  for (let at = 0; at <= mostSteps + 2; at++) {
    const edge = months === 0 ? Math.floor(from / day) * day + at * day : monthAt(first + at * months)
    edges.push(edge)
    if (edge > to) break
  }
  const read = (bound: Bound | undefined) => {
    const time = bound === undefined ? Number.NaN : Date.parse(spelled(JSON.parse(bound.value) as string))
    return Number.isNaN(time) ? undefined : time
  }
  return {
    ...opened(edges, low, high + 1),
    column: `${written(name)} by ${bucket}`,
    placeOf: value => (typeof value === 'string' ? Date.parse(value) : Number.NaN),
    print: (place, isEnd) => printed(isEnd ? place - 1 : place, isEnd),
    parse: (text, isEnd) => parsed(text.trim(), isEnd),
    boundsOf: (from, to) => [
      ...(from === undefined ? [] : [{ sign: '>=' as const, value: inQuotes(from) }]),
      ...(to === undefined ? [] : [{ sign: '<' as const, value: inQuotes(to) }]),
    ],
    read: bounds => [
      read(bounds.find(({ sign }) => sign.startsWith('>'))),
      read(bounds.find(({ sign }) => sign.startsWith('<'))),
    ],
  }
}

/** Date.UTC takes years below 100 for those of the last century. */
function monthAt(months: number): number {
  const date = new Date(0)
  date.setUTCFullYear(Math.floor(months / 12), months % 12, 1)
  return date.getTime()
}

/** Completes a year or a month to a date, which Date.parse reads as UTC. */
const spelled = (text: string) => (/^\d{4}$/.test(text) ? `${text}-01-01` : text)

const inQuotes = (time: number) => {
  const text = new Date(time).toISOString()
  return JSON.stringify(text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text)
}

/** Writes a day; a year where the day is its first or its last one. */
function printed(time: number, isEnd: boolean): string {
  const text = new Date(time).toISOString().slice(0, 10)
  return text.endsWith(isEnd ? '-12-31' : '-01-01') ? text.slice(0, -6) : text
}

/** Reads a year, a month or a day; the end of a range is behind all of it. */
function parsed(text: string, isEnd: boolean): number | undefined {
  const [, year, month, date] = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/.exec(text) ?? []
  const time = Date.parse(spelled(text))
  if (year === undefined || Number.isNaN(time)) return undefined
  if (!isEnd) return time
  const months = Number(year) * 12 + Number(month ?? 1) - 1
  return date === undefined ? monthAt(months + (month === undefined ? 12 : 1)) : time + day
}
