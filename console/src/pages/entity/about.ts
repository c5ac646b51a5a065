import { type Entity, type EntityField, isSortable, type Json, loadRows } from '../../entities.ts'
import { isAmount } from '../../exact.ts'
import { written } from '../../query/pql.ts'
import { aboutRecords } from '../../query/requirements.ts'
import { barsOf, scaleOf } from '../../records/scale.ts'
import { type Count, loadBulk, loadCounts } from './facets.ts'
import { loadSteps } from './steps.ts'

/** Answers about a column, requested when its panel is opened. */
interface About {
  readonly empty: number
  readonly distinct: number
  readonly smallest: Json
  readonly largest: Json
  /** Numbers of records from the smallest to the largest value; undefined if the values have no scale. */
  readonly steps: ReturnType<typeof barsOf> | undefined
  /** The most frequent values, if there is no scale. */
  readonly frequent: readonly Count[]
}

/** Number of frequent values shown. */
const most = 5
/** Time in seconds after which the service gives up. */
const patience = 10

/** Asks about the records of a view: one query for the values as a whole, and one for how often they occur. */
export async function loadAbout(
  entity: Entity,
  field: EntityField,
  typed: string,
  signal: AbortSignal,
): Promise<About> {
  const name = written(field.name)
  const condition = aboutRecords(typed)
  const functions = ['count()', `count(${name})`, `count_distinct(${name})`]
  if (isSortable(field) && field.type !== 'boolean') functions.push(`min(${name})`, `max(${name})`)
  const { rows } = await loadRows(`${entity.name}[${functions.join(', ')}] { ${condition} }`, {
    timeout: patience,
    signal,
  })
  const [all, filled, distinct] = (rows[0] ?? []).map(Number)
  const [smallest = null, largest = null] = rows[0]?.slice(3) ?? []
  const about = { empty: (all ?? 0) - (filled ?? 0), distinct: distinct ?? 0, smallest, largest }
  const isScale = field.type === 'integer' || field.type === 'number' || field.type === 'date-time'
  if (!filled) return { ...about, steps: undefined, frequent: [] }
  const range =
    isScale && isAmount(smallest) && isAmount(largest)
      ? ({ field, kind: 'range', min: smallest, max: largest } as const)
      : undefined
  const scale = range && scaleOf({ ...range, bulk: await loadBulk(entity, range, signal, condition) })
  if (scale) {
    const { steps } = await loadSteps({ entity, field, scale, condition }, signal)
    return { ...about, steps: barsOf(scale, steps), frequent: [] }
  }
  // One of them may be that there is no value. There may be too many lists to count what is in them.
  const counting = loadCounts({ entity, field, condition, most: most + 1, part: '' }, [], signal)
  const { counts } = await (field.list ? counting.catch(() => ({ counts: [] })) : counting)
  return { ...about, steps: undefined, frequent: counts.filter(({ value }) => value !== null).slice(0, most) }
}
