import { type Entity, type EntityField, loadRows } from '../../entities.ts'
import { written } from '../../query/pql.ts'
import { asking } from '../../query/refused.ts'
import { aboutRecords } from '../../query/requirements.ts'
import { bulkOf, roundStep } from '../../records/scale.ts'

/** Numbers of different values above which numbers are put into ranges, and number of ranges that are aimed at. */
const [manyIntegers, manyNumbers, ranges] = [500, 60, 60]

const isNumber = ({ type }: EntityField) => type === 'integer' || type === 'number'

/** Widths to choose from besides the one that fits best. */
export const widthsAround = (width: number): readonly number[] =>
  [0.1, 0.2, 0.5, 1, 2, 5, 10].map(factor => Number((width * factor).toPrecision(2)))

/**
 * Chooses the width of ranges of numbers, so that a drawing has about sixty of them.
 *
 * @returns undefined for each field whose values are few enough to have a place each
 */
export async function loadWidths(
  entity: Entity,
  condition: string,
  fields: readonly (EntityField | undefined)[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const numbers = fields.filter(one => one !== undefined).filter(isNumber)
  if (numbers.length === 0) return new Map()
  const columns = numbers.flatMap(({ name }) => {
    const field = written(name)
    return [
      ...['count_distinct', 'min', 'max'].map(one => `${one}(${field})`),
      ...[25, 75].map(part => `percentile(${field}, ${part})`),
    ]
  })
  const prefix = `${entity.name}[${columns.join(', ')}] { `
  const { rows } = await asking(entity, condition, prefix, () =>
    loadRows(`${prefix}${aboutRecords(condition)} }`, { signal }),
  )
  const values = (rows[0] ?? []).map(Number)
  return new Map(
    numbers.flatMap(({ name, type }, at): (readonly [string, number])[] => {
      const [distinct = 0, lowest = 0, highest = 0, lower = 0, upper = 0] = values.slice(at * 5, at * 5 + 5)
      if (distinct <= (type === 'integer' ? manyIntegers : manyNumbers)) return []
      // Values far from the others aren't drawn, so they don't widen the ranges.
      const [from, to] = bulkOf(lowest, highest, [lower, upper])
      const width = roundStep((to - from) / ranges)
      return Number.isFinite(width) ? [[name, type === 'integer' ? Math.max(1, width) : width]] : []
    }),
  )
}
