import { type Entity, type EntityField, isSortable, type Json, keyOf, loadRows } from '../../entities.ts'
import { type Amount, isAmount, printExactly } from '../../exact.ts'
import { literally } from '../../query/conditions.ts'
import { written } from '../../query/pql.ts'
import { narrowed, type Value } from '../../query/requirements.ts'
import { bulkOf, decimal, quartilesOf } from '../../records/scale.ts'
import { readNames } from '../../records/view.ts'
import { recall, remember } from '../../settings.ts'

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
export const mostFields = 30
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
  return (field: EntityField) =>
    (isSortable(field) || field.list === true) && !(more.length === 0 && field.name === only)
}

/** True for a value of JSON that is no single value to tick. */
const isNested = (value: Json | undefined): boolean =>
  typeof value === 'object' && value !== null && !isAmount(value)

/** Number of values by which a field of JSON is judged. */
const sampled = 20

/** True if the first values of a field of JSON are all lists or objects. */
async function isOfNested(
  entity: Entity,
  { name, type, list }: EntityField,
  signal: AbortSignal,
): Promise<boolean> {
  if (type !== 'json' || list) return false
  const field = written(name)
  const { rows } = await ask(`${entity.name}[${field}] { ${field} is not null limit ${sampled} }`, signal)
  return rows.length > 0 && rows.every(([value]) => isNested(value))
}

const isScale = ({ type }: EntityField) => type === 'integer' || type === 'number' || type === 'date-time'

export const ask = (query: string, signal: AbortSignal) => loadRows(query, { timeout: patience, signal })

/** Asks for what is known of the fields of all records; where that takes too long, by their types alone. */
export async function loadFacets(entity: Entity, signal: AbortSignal): Promise<readonly Facet[]> {
  const candidates = entity.fields.filter(canBeFacet(entity)).slice(0, mostFields)
  const nested = await Promise.all(
    candidates.map(field => isOfNested(entity, field, signal).catch(() => false)),
  )
  const fields = candidates.filter((_, at) => !nested[at])
  if (fields.length === 0) return []
  const hasEnds = (field: EntityField) => !field.list && (isScale(field) || field.type === 'json')
  const columns = fields.flatMap(field => {
    const name = written(field.name)
    return [`count_distinct(${name})`, ...(hasEnds(field) ? [`min(${name})`, `max(${name})`] : [])]
  })
  try {
    const { rows } = await ask(`${entity.name}[${columns.join(', ')}] { }`, signal)
    const values = [...(rows[0] ?? [])]
    return fields.map((field): Facet => {
      const distinct = Number(values.shift())
      // The number of different lists says nothing of the values in them.
      if (field.list) return { field, kind: 'values' }
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

/** Returns the names in the address that no facet is shown for. */
export const notShown = (facets: readonly Facet[], address: string | null): readonly string[] =>
  readNames(address).filter(name => facets.every(({ field }) => field.name !== name))

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

interface Counts {
  readonly counts: readonly Count[]
  /** The number of different values, including those not loaded. */
  readonly total: number
  /** True if some records have a list or an object, which isn't counted. */
  readonly hasNested?: boolean
}

/** Maximum number of different lists whose values are counted. */
const mostLists = 10_000

/** Counts the values in lists, each once for a record. @throws Error if there are too many different lists */
async function countsInLists(
  list: string,
  grouped: (where: string, limit: number) => ReturnType<typeof ask>,
  { condition, most, part }: { readonly condition: string; readonly most: number; readonly part: string },
  chosen: readonly Value[],
): Promise<Counts> {
  const { rows, total } = await grouped(condition, mostLists)
  if (total > mostLists) throw new Error(`${list} has too many different lists`)
  const found = new Map<Value, Count>()
  for (const [value = null, count] of rows) {
    const values = Array.isArray(value) ? value.filter(one => one !== null) : [value]
    for (const one of new Map(values.map(shown => [literalOf(shown), shown] as const))) {
      const before = found.get(one[0])?.count ?? 0
      found.set(one[0], { value: one[0], shown: one[1], count: before + Number(count) })
    }
  }
  const isFound = ({ shown }: Count) =>
    part === '' || String(shown).toLowerCase().includes(part.toLowerCase())
  const all = [...found.values()].filter(isFound).toSorted((a, b) => b.count - a.count)
  const rest = chosen.filter(one => all.slice(0, most).every(({ value }) => value !== one))
  const more = rest.map(
    (value): Count => found.get(value) ?? { value, shown: JSON.parse(value ?? 'null') as Json, count: 0 },
  )
  return { counts: [...all.slice(0, most), ...more.filter(({ value }) => value !== null)], total: all.length }
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
  if (field.list) return countsInLists(field.name, grouped, { condition, most, part }, chosen)
  const countsOf = ({ rows }: Awaited<ReturnType<typeof ask>>) =>
    rows.map(([shown = null, count]): Count => ({ value: literalOf(shown), shown, count: Number(count) }))
  const isFound = `${name} ~ ${JSON.stringify(`(?i)${literally(part)}`)}`
  const frequent = await grouped(
    [condition, ...(part === '' ? [] : [isFound])].filter(Boolean).join(' and '),
    most,
  )
  const all = countsOf(frequent)
  const counts = field.type === 'json' ? all.filter(({ shown }) => !isNested(shown)) : all
  const rest = { total: frequent.total - all.length + counts.length, hasNested: counts.length < all.length }
  const missing = chosen.filter(one => one !== null && counts.every(({ value }) => value !== one))
  if (missing.length === 0) return { counts, ...rest }
  const parts = [condition, `${name} in [${missing.join(', ')}]`].filter(Boolean).join(' and ')
  const more = countsOf(await grouped(parts, missing.length))
  const none = missing
    .filter(one => more.every(({ value }) => value !== one))
    .map((value): Count => ({ value, shown: JSON.parse(value ?? 'null') as Json, count: 0 }))
  return { counts: [...counts, ...more, ...none], ...rest }
}

/** Maximum number of groups of a histogram, of which several may make a step. */
export const mostGroups = 4_000

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
