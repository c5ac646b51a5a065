import type { Entity, EntityField } from '../../entities.ts'
import { written } from '../../query/pql.ts'
import { narrowed } from '../../query/requirements.ts'
import { farBounds, type Scale } from '../../records/scale.ts'
import { ask, mostGroups } from './facets.ts'

interface Steps {
  /** Numbers of records, for each step of the scale. */
  readonly steps: readonly number[]
  /** The number of records without a value. */
  readonly without: number
  /** The number of records with a value of another type than the scale's. */
  readonly others: number
}

/** Counts the records that meet a condition along a scale. */
export async function loadSteps(
  {
    entity,
    field,
    scale,
    condition,
  }: {
    readonly entity: Entity
    readonly field: EntityField
    readonly scale: Scale
    readonly condition: string
  },
  signal: AbortSignal,
): Promise<Steps> {
  const { column, edges, placeOf, isOpen } = scale
  const name = written(field.name)
  const last = edges.length - 2
  const compared = (side: 0 | 1, sign: string) =>
    isOpen[side] ? farBounds(scale, side).map(({ value }) => `${name} ${sign} ${value}`) : []
  const [below, above] = [compared(0, '<'), compared(1, '>=')]
  const within = [...compared(0, '>='), ...compared(1, '<')]
  const where = (more: readonly string[]) => (more.length === 0 ? condition : narrowed(condition, more))
  const count = async (more: readonly string[]) => {
    const { rows } = await ask(`${entity.name}[count()] { ${where(more)} }`, signal)
    return Number(rows[0]?.[0])
  }
  // Far values are counted by a query of their own, since they may have more groups than are listed.
  const [{ rows }, none, ...beyond] = await Promise.all([
    ask(
      `${entity.name}[${column}, count()] { ${where(within)} group by ${column} limit ${mostGroups} }`,
      signal,
    ),
    // Only JSON has values that are on no scale.
    field.type === 'json' ? count([`${name} is null`]) : undefined,
    below.length === 0 ? undefined : count(below),
    above.length === 0 ? undefined : count(above),
    within.length === 0 ? undefined : count([]),
  ])
  const steps = edges.slice(1).map(() => 0)
  let without = 0
  for (const [value, records] of rows) {
    const place = placeOf(value)
    const at = edges.findLastIndex(edge => edge <= place)
    if (Number.isNaN(place)) without += Number(records)
    else if (at >= 0 && at < steps.length) steps[at] = (steps[at] ?? 0) + Number(records)
  }
  if (beyond[0] !== undefined) steps[0] = beyond[0]
  if (beyond[1] !== undefined) steps[last] = beyond[1]
  if (beyond[2] !== undefined) without = beyond[2] - steps.reduce((sum, one) => sum + one, 0)
  return { steps, without: none ?? without, others: none === undefined ? 0 : without - none }
}
