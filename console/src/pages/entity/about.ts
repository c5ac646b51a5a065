import { service } from '../../api.ts'
import { type Entity, type EntityField, isSortable, type Json, pathOf } from '../../entities.ts'
import { isAmount, readExactly } from '../../exact.ts'
import { t } from '../../i18n/i18n.ts'
import { narrowed } from '../draw/groups.ts'
import { written } from './pql.ts'
import { bulkOf, quartilesOf } from './scale.ts'

/** Queries about a column, sent when its panel is opened. */
interface About {
  readonly empty: number
  readonly distinct: number
  readonly smallest: Json
  readonly largest: Json
  /** Numbers of records by value, the most frequent first, or in equal ranges from the smallest to the largest. */
  readonly bars: readonly Bar[]
}

interface Bar {
  readonly text: string
  readonly count: number
  /** True for all values that lie far below or above the others. */
  readonly isFar?: boolean
}

/** Maximum number of different numbers whose records are counted one by one, and numbers of bars. */
const [mostValues, ranges, frequent] = [2_000, 24, 5]

async function ask(query: string, limit: number, signal: AbortSignal): Promise<readonly (readonly Json[])[]> {
  const response = await service.value.request('GET', pathOf(), {
    query: { query, timeout: 10, limit },
    signal,
  })
  const rows = readExactly(await response.text()) as readonly Readonly<Record<string, Json>>[]
  // The columns have the order of the query, whatever their names are.
  return rows.map(row => Object.values(row))
}

/** Asks what the records of a view have in a column: one query for its values as a whole, and one for the bars. */
export async function loadAbout(
  entity: Entity,
  field: EntityField,
  condition: string,
  signal: AbortSignal,
): Promise<About> {
  const name = written(field.name)
  const where = narrowed(condition, []) ?? ''
  const hasEnds = isSortable(field) && field.type !== 'boolean'
  const functions = ['count()', `count(${name})`, `count_distinct(${name})`]
  if (hasEnds) functions.push(`min(${name})`, `max(${name})`)
  const [values = []] = await ask(`${entity.name}[${functions.join(', ')}] { ${where} }`, 1, signal)
  const [all, filled, distinct] = values.map(Number)
  const [smallest = null, largest = null] = values.slice(3)
  const about = { empty: (all ?? 0) - (filled ?? 0), distinct: distinct ?? 0, smallest, largest }
  const isNumber = field.type === 'integer' || field.type === 'number'
  if (!filled) return { ...about, bars: [] }
  const filledOnly = narrowed(where, [`${name} is not null`])
  const grouped = (by: string, order: string, limit: number) =>
    ask(`${entity.name}[${by}, count()] { ${filledOnly} group by ${by} order by ${order} }`, limit, signal)
  if (isNumber) {
    // Above the limit, the service puts them into ranges, which are put together to the bars.
    const width = Number(((Number(largest) - Number(smallest)) / mostValues).toPrecision(2))
    const by = about.distinct > mostValues && width > 0 ? `${name} by ${width}` : name
    return { ...about, bars: inRanges(await grouped(by, by, mostValues * 2)) }
  }
  if (field.type === 'date-time') {
    const year = `to_string(${name}, "YYYY")`
    const rows = await grouped(year, year, mostValues)
    return { ...about, bars: inRanges(rows.map(([value, count = null]) => [Number(value), count])) }
  }
  const rows = await grouped(name, 'count() desc', frequent)
  return { ...about, bars: rows.map(([value, count]) => ({ text: textOf(value), count: Number(count) })) }
}

const textOf = (value: Json | undefined) =>
  typeof value === 'string'
    ? value
    : typeof value === 'boolean'
      ? t(value ? 'yes' : 'no')
      : JSON.stringify(value)

/**
 * Puts numbers and how often each occurs into equal ranges, as a histogram. What lies far below or above the others
 * has a bar of its own.
 */
function inRanges(rows: readonly (readonly Json[])[]): readonly Bar[] {
  const pairs = rows.flatMap(([value, count]) =>
    value !== undefined && isAmount(value) ? [[Number(value), Number(count)] as const] : [],
  )
  const [lowest, highest] = [pairs[0]?.[0] ?? 0, pairs.at(-1)?.[0] ?? 0]
  const [from, to] = bulkOf(lowest, highest, quartilesOf(pairs))
  const inside = pairs.filter(([value]) => value >= from && value <= to)
  const [first, last] = [inside[0]?.[0] ?? 0, inside.at(-1)?.[0] ?? 0]
  const isWhole = pairs.every(([value]) => Number.isInteger(value))
  const width = isWhole ? Math.max(1, Math.ceil((last - first + 1) / ranges)) : (last - first) / ranges || 1
  const counts = new Array<number>(Math.min(ranges, Math.floor((last - first) / width) + 1)).fill(0)
  for (const [value, count] of inside) {
    const at = Math.min(counts.length - 1, Math.floor((value - first) / width))
    counts[at] = (counts[at] ?? 0) + count
  }
  const short = (value: number) => String(Number(value.toPrecision(6)))
  const named = (low: number, high: number) => (low === high ? short(low) : `${short(low)} – ${short(high)}`)
  const far = (fits: (value: number) => boolean): readonly Bar[] => {
    const list = pairs.filter(([value]) => fits(value))
    const count = list.reduce((sum, [, one]) => sum + one, 0)
    return count === 0 ? [] : [{ text: named(list[0]?.[0] ?? 0, list.at(-1)?.[0] ?? 0), count, isFar: true }]
  }
  const bars = counts.map((count, at) => {
    const low = first + at * width
    return { text: named(low, Math.min(last, isWhole ? low + width - 1 : low + width)), count }
  })
  return [...far(value => value < from), ...bars, ...far(value => value > to)]
}
