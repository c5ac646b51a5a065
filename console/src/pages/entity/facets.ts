import { type Entity, type EntityField, isSortable, type Json, keyOf, loadRows } from '../../entities.ts'
import { type Amount, isAmount, printExactly } from '../../exact.ts'
import { recall, remember } from '../../settings.ts'
import { literally } from './conditions.ts'
import { written } from './pql.ts'
import { narrowed, type Value } from './requirements.ts'
import { bulkOf, decimal, farBounds, quartilesOf, type Scale } from './scale.ts'
import { readNames } from './view.ts'

/** A field that records can be narrowed down by: by its frequent values, or by a range of a histogram. */
export interface Facet {
  readonly field: EntityField
  readonly kind: 'values' | 'range'
  /** The number of different values among all records; undefined if it isn't known. */
  readonly distinct?: number
  /** The smallest and the largest value among all records. */
  readonly min?: Amount
  readonly max?: Amount
}

/** Maximum number of fields that are looked at, with up to three functions of the service each. */
const mostFields = 30
/** Maximum number of different values of a field that is a facet unless others are chosen. */
const few = 60
/** Number of different numbers from which on they are a histogram. */
const many = 12
/** Number of facets of each kind unless others are chosen. */
const usual = { values: 4, range: 2 } as const
/** Maximum number of facets at a time. */
export const mostFacets = 12
/** Time in seconds after which the service gives up; facets are an offer. */
const patience = 10

const canBeFacet = (entity: Entity) => {
  const [only, ...more] = keyOf(entity)
  return (field: EntityField) => isSortable(field) && !(more.length === 0 && field.name === only)
}

const isScale = ({ type }: EntityField) => type === 'integer' || type === 'number' || type === 'date-time'

const ask = (query: string, signal: AbortSignal) => loadRows(query, { timeout: patience, signal })

/** Asks for what is known of the fields of all records; where that takes too long, by their types alone. */
export async function loadFacets(entity: Entity, signal: AbortSignal): Promise<readonly Facet[]> {
  const fields = entity.fields.filter(canBeFacet(entity)).slice(0, mostFields)
  if (fields.length === 0) return []
  const hasEnds = (field: EntityField) => isScale(field) || field.type === 'json'
  const columns = fields.flatMap(field => {
    const name = written(field.name)
    return [`count_distinct(${name})`, ...(hasEnds(field) ? [`min(${name})`, `max(${name})`] : [])]
  })
  try {
    const { rows } = await ask(`${entity.name}[${columns.join(', ')}] { }`, signal)
    const values = [...(rows[0] ?? [])]
    return fields.map((field): Facet => {
      const distinct = Number(values.shift())
      if (!hasEnds(field)) return { field, kind: 'values', distinct }
      const [min, max] = [values.shift(), values.shift()]
      if (!isAmount(min) || !isAmount(max)) return { field, kind: 'values', distinct }
      const isNumber = typeof min !== 'string' && typeof max !== 'string'
      const isRange = field.type === 'date-time' || (isNumber && distinct > many)
      return { field, kind: isRange ? 'range' : 'values', distinct, min, max }
    })
  } catch (error) {
    if (signal.aborted) throw error
    return fields.flatMap(field => (isScale(field) ? [] : [{ field, kind: 'values' as const }]))
  }
}

/** Returns the facets that an entity has unless others are chosen: fields with few values first. */
function usualFacets(facets: readonly Facet[]): readonly Facet[] {
  const isUseful = ({ kind, distinct = 0 }: Facet) => distinct > 1 && (kind === 'range' || distinct <= few)
  const byNumber = facets.filter(isUseful).toSorted((a, b) => (a.distinct ?? 0) - (b.distinct ?? 0))
  const ranges = facets.filter(one => one.kind === 'range' && isUseful(one))
  return [
    ...byNumber.filter(({ kind }) => kind === 'values').slice(0, usual.values),
    ...ranges.slice(0, usual.range),
  ]
}

/**
 * Returns the facets that are shown: those of the address, those that were chosen in this browser before, or
 * the usual ones.
 *
 * @param address names in the form of the address
 */
export function facetsShown(
  entity: Entity,
  facets: readonly Facet[],
  address: string | null,
): readonly Facet[] {
  const names = readNames(address ?? recall(`facets.${entity.name}`))
  const chosen = names.flatMap(name => facets.find(({ field }) => field.name === name) ?? [])
  return chosen.length > 0 ? chosen.slice(0, mostFacets) : usualFacets(facets)
}

/** Facets that were opened stay open in the next table, too. */
export function rememberFacets(entity: Entity, names: string): void {
  remember(`facets.${entity.name}`, names)
  remember('facets', 'open')
}

export interface Count {
  readonly value: Value
  readonly shown: Json
  readonly count: number
}

export interface Counts {
  readonly counts: readonly Count[]
  /** The number of different values, including those not loaded. */
  readonly total: number
}

const literalOf = (value: Json | undefined): Value =>
  value === null || value === undefined ? null : printExactly(value)

/**
 * Counts the most frequent values among the records that meet a condition.
 *
 * @param chosen values that are counted in any case
 */
export async function loadCounts(
  {
    entity,
    field,
    condition,
    most,
    part,
  }: {
    readonly entity: Entity
    readonly field: EntityField
    readonly condition: string
    readonly most: number
    /** A part that the values must contain; the empty string finds all. */
    readonly part: string
  },
  chosen: readonly Value[],
  signal: AbortSignal,
): Promise<Counts> {
  const name = written(field.name)
  const order = isSortable(field) ? `count() desc, ${name}` : 'count() desc'
  const grouped = (where: string, limit: number) =>
    ask(
      `${entity.name}[${name}, count()] { ${where} group by ${name} order by ${order} limit ${limit} }`,
      signal,
    )
  const countsOf = ({ rows }: Awaited<ReturnType<typeof ask>>) =>
    rows.map(([shown = null, count]): Count => ({ value: literalOf(shown), shown, count: Number(count) }))
  const isFound = `${name} ~ ${JSON.stringify(`(?i)${literally(part)}`)}`
  const frequent = await grouped(
    [condition, ...(part === '' ? [] : [isFound])].filter(Boolean).join(' and '),
    most,
  )
  const counts = countsOf(frequent)
  const missing = chosen.filter(one => one !== null && counts.every(({ value }) => value !== one))
  if (missing.length === 0) return { counts, total: frequent.total }
  const parts = [condition, `${name} in [${missing.join(', ')}]`].filter(Boolean).join(' and ')
  const more = countsOf(await grouped(parts, missing.length))
  const none = missing
    .filter(one => more.every(({ value }) => value !== one))
    .map((value): Count => ({ value, shown: JSON.parse(value ?? 'null') as Json, count: 0 }))
  return { counts: [...counts, ...more, ...none], total: frequent.total }
}

/** Maximum number of groups of a histogram, of which several may make a step. */
const mostGroups = 4_000

/** Time in ms of about twenty years; what lies closer together has no far ends. */
const short = 20 * 366 * 86_400_000

/**
 * Asks between which places all but a few far values of a field lie, among the records that meet a condition.
 *
 * @returns undefined if no values are far from the others, or if it takes too long to find out
 */
export async function loadBulk(
  entity: Entity,
  { field, kind, min, max }: Facet,
  signal: AbortSignal,
  condition = '',
): Promise<readonly [number, number] | undefined> {
  const where = (more: readonly string[]) => narrowed(condition, more)
  // No part of a sample can be asked for.
  if (kind !== 'range' || min === undefined || max === undefined || where([]) === undefined) return undefined
  const name = written(field.name)
  const placeOf = (value: unknown) =>
    field.type === 'date-time' ? Date.parse(String(value)) : Number(isAmount(value) ? value : Number.NaN)
  const [low, high] = [placeOf(min), placeOf(max)]
  if (![low, high].every(place => Math.abs(place) <= Number.MAX_SAFE_INTEGER)) return undefined
  const valuesIn = async (columns: string, more: readonly string[] = []) => {
    const { rows } = await ask(`${entity.name}[${columns}] { ${where(more)} }`, signal)
    return rows[0] ?? []
  }
  try {
    if (field.type === 'date-time') {
      if (high - low < short) return undefined
      const year = `${name} by year`
      const { rows } = await ask(
        `${entity.name}[${year}, count()] { ${where([`${name} is not null`])} group by ${year} order by ${year} limit ${mostGroups} }`,
        signal,
      )
      const years = rows.map(([value, count]) => [placeOf(value), Number(count)] as const)
      const [from, to] = bulkOf(low, high, quartilesOf(years))
      if (from === low && to === high) return undefined
      // An end that isn't cut stays where it is; else it is the end of a year.
      const [first] = years.find(([place]) => place >= from) ?? [low]
      const [last] = years.findLast(([place]) => place <= to) ?? [high]
      const end = Date.UTC(new Date(last).getUTCFullYear() + 1, 0) - 1
      return [from === low ? low : first, to === high ? high : end]
    }
    const [lower, upper] = await valuesIn(`percentile(${name}, 25), percentile(${name}, 75)`)
    const [from, to] = bulkOf(low, high, [placeOf(lower), placeOf(upper)])
    if (from === low && to === high) return undefined
    const within = `${name} >= ${decimal(from)} and ${name} <= ${decimal(to)}`
    const [first, last] = await valuesIn(`min(${name}), max(${name})`, [within])
    return placeOf(last) > placeOf(first) ? [placeOf(first), placeOf(last)] : undefined
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
}

export interface Steps {
  /** Numbers of records, for each step of the scale. */
  readonly steps: readonly number[]
  /** The number of records without a value on the scale. */
  readonly without: number
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
  const [{ rows }, ...beyond] = await Promise.all([
    ask(
      `${entity.name}[${column}, count()] { ${where(within)} group by ${column} limit ${mostGroups} }`,
      signal,
    ),
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
  return { steps, without }
}
