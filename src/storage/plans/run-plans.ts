import { hash } from 'node:crypto'
import { TooMuch } from '../../lib/errors.ts'
import type { Client } from '../../lib/fair-queue.ts'
import { inUtc } from '../../lib/instants.ts'
import { exactText, parseExact, parseWritten } from '../../lib/json.ts'
import { textForm } from '../../lib/sort-keys.ts'
import type { Entity } from '../../model/entities.ts'
import {
  type Column,
  type Condition,
  type FieldRef,
  isOfElements,
  type Plan,
  type Related,
  type Rows,
} from '../../model/plan.ts'
import { leavesOf, relatedIn, valueField, withRelated } from '../../model/plan-fields.ts'
import type { Viewer } from '../../model/readers.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import type { Entities, Listing, RecordPlan } from '../entities.ts'
import { hasEmptyBuckets, withEmptyBuckets } from './empty-buckets.ts'
import { type Explanation, explanationOf } from './explain.ts'

/** Runs plans on imported records. */
interface OnRecords {
  list(plan: RecordPlan, format: RecordFormat, client: Client): Promise<Listing>
  explain(plan: RecordPlan, client: Client, runs: boolean): Promise<Explanation>
}

/** Runs plans on tables. */
interface OnTables {
  list(plan: Plan, viewer: Viewer, format: RecordFormat, client: Client): Promise<Listing>
  explain(plan: Plan, viewer: Viewer, client: Client, runs: boolean): Promise<Explanation>
}

const isOnRecords = (plan: Plan): plan is RecordPlan => plan.entity.source.kind === 'records'

/** Runs plans; subqueries that can't be run in place go first. @param engine its name in explanations */
export function createPlanRunner(
  engine: string,
  records: OnRecords,
  tables: OnTables,
): Pick<Entities, 'list' | 'explain'> {
  const list: Entities['list'] = (given, viewer, format, client) => {
    if (hasEmptyBuckets(given))
      return withEmptyBuckets(given, format, plan => list(plan, viewer, 'ndjson', client))
    const run = (plan: Plan) =>
      isOnRecords(plan) ? records.list(plan, format, client) : tables.list(plan, viewer, format, client)
    return hasPlans(given) ? resolvePlans(given, listInner(viewer, client)).then(run) : run(given)
  }
  const listInner = (viewer: Viewer, client: Client) => (inner: Plan) => list(inner, viewer, 'ndjson', client)

  const explain: Entities['explain'] = async (given, viewer, client, runs) => {
    const isRecords = isOnRecords(given)
    const name = isRecords ? 'records' : engine
    if (!isRecords && viewer.kind !== 'administrator') return explanationOf(name, given, viewer, undefined)
    // A statement needs rows in the place of subqueries that would have to be run first.
    const plan =
      runs || !isRecords ? await resolvePlans(given, runs ? listInner(viewer, client) : noRows) : given
    const more = isOnRecords(plan)
      ? records.explain(plan, client, runs)
      : tables.explain(plan, viewer, client, runs)
    return explanationOf(name, given, viewer, await more)
  }
  return { list, explain }
}

const noRows = async (): Promise<Listing> => ({ total: undefined, more: undefined, body: new Uint8Array() })

interface Bound {
  readonly rows: number
  readonly bytes: number
}

/** Maximum number and bytes of rows held in memory for a subquery that can't be run in place. */
const most: Bound = { rows: 1_000_000, bytes: 64 * 1024 * 1024 }

/** The bound of all fields of related entities in a query together; each field's rows become a column. */
const mostRelated: Bound = { rows: 200_000, bytes: 16 * 1024 * 1024 }

type List = (plan: Plan) => Promise<Listing>

/**
 * Runs the plans inside of a plan's condition that can't be run in place, and puts their rows there instead
 * (docs/decisions/0037).
 * @param list lists the rows of a plan as lines of JSON
 * @throws TooMuch if they have too many rows
 */
async function resolvePlans(given: Plan, list: List): Promise<Plan> {
  const plan = await resolveRelated(given, list)
  return plan.where === null ? plan : { ...plan, where: await resolve(plan.where, plan.entity, list) }
}

/** Puts rows in the place of related entities that can't be read in place (docs/decisions/0078). */
async function resolveRelated(plan: Plan, list: List): Promise<Plan> {
  const found = new Map<Related, Related>()
  const left = { ...mostRelated }
  for (const related of relatedIn(plan).values()) {
    const { fields, of } = related
    if ('rows' in of || runsInPlace(plan.entity, of)) continue
    const value = { ...valueField(related), path: [] }
    const read = await rowsOf(of, [...fields, value], list, left, tooManyRelated(of, plan))
    left.rows -= read.count
    left.bytes -= read.rows.length
    found.set(related, {
      fields,
      of: { rows: read.rows, digest: hash('sha256', read.rows, 'base64'), value },
    })
  }
  return found.size === 0 ? plan : withRelated(plan, related => found.get(related) ?? related)
}

const tooManyRelated = (inner: Plan, { entity }: Plan) =>
  `Fields of ${inner.entity.name} in a query of ${entity.name} would take more than ${mostRelated.rows.toLocaleString('en')} records, or 16 MB of them, because the two are kept in different ways. Ask for fewer fields, or query ${inner.entity.name}, with a subquery about ${entity.name}.`

/** True if there are plans inside the plan's condition, or inside of its fields. */
const hasPlans = (plan: Plan): boolean =>
  relatedIn(plan).size > 0 ||
  // A sample stays as it is, unless there are plans in its own.
  leavesOf(plan.where).some(leaf => 'plan' in leaf && ('fields' in leaf || hasPlans(leaf.plan)))

async function resolve(where: Condition, outer: Entity, list: List): Promise<Condition> {
  if ('of' in where) {
    const of: Condition[] = []
    // One after the other, so that a query has one turn at a time.
    for (const one of where.of) of.push(await resolve(one, outer, list))
    return { kind: where.kind, of }
  }
  if (!('plan' in where)) return where
  const { plan } = where
  if ('fields' in where && !runsInPlace(outer, plan)) {
    const { fields, negated } = where
    return { kind: 'in rows', fields, rows: (await rowsOf(plan, fields, list)).rows, negated }
  }
  return { ...where, plan: await resolvePlans(plan, list) }
}

/**
 * True if a condition on the entity can take the plan as it is. Tables of one kind become one statement.
 * Imported records take plans that list fields of imported records, one record a row.
 */
function runsInPlace({ source }: Entity, { entity, shape, page }: Plan): boolean {
  if (source.kind !== 'records') return entity.source.kind === source.kind && !hasElements(shape)
  if (entity.source.kind !== 'records' || shape.kind !== 'rows') return false
  const { columns, groups, having, distinct, order } = shape
  return (
    groups === null &&
    having === null &&
    columns.every(({ value }) => value.kind === 'field') &&
    // Without a window, neither the order nor how often a row is listed makes a difference.
    ((page.limit === null && page.offset === 0) ||
      (!distinct && order.every(({ by }) => typeof by === 'number' || by.kind === 'field')))
  )
}

/** True if rows are elements of lists, which no statement takes apart. */
const hasElements = (shape: Plan['shape']) =>
  shape.kind === 'rows' &&
  shape.columns.some(({ value }) => value.kind === 'field' && isOfElements(value.field))

/** @returns the rows that the fields can be equal to, each once: their number, and a JSON array of them */
async function rowsOf(
  plan: Plan,
  fields: readonly FieldRef[],
  list: List,
  bound: Bound = most,
  tooMany = `The subquery on ${plan.entity.name} has more than ${most.rows.toLocaleString('en')} different rows, or 64 MB of them. Add a condition to it, or ask the other way round: query ${plan.entity.name}, with a subquery on the other entity.`,
): Promise<{ readonly rows: string; readonly count: number }> {
  const { shape } = plan
  if (shape.kind !== 'rows') throw new Error('a plan inside a condition lists whole records')
  const { body } = await list({ ...plan, page: { ...plan.page, total: false } })
  const rows = new Set<string>()
  let bytes = 0
  for await (const line of linesOf(body)) {
    for (const row of rowsIn(line, shape, fields)) {
      if (rows.has(row)) continue
      rows.add(row)
      bytes += row.length
    }
    if (rows.size > bound.rows || bytes > bound.bytes) throw new TooMuch(tooMany)
  }
  return { rows: `[${[...rows].join()}]`, count: rows.size }
}

async function* linesOf(body: Listing['body']): AsyncIterable<string> {
  const decoder = new TextDecoder()
  for await (const piece of body instanceof Uint8Array ? [body] : body)
    for (const line of decoder.decode(piece).split('\n')) if (line !== '') yield line
}

/**
 * Converts a row to the types of the fields it is compared with, so that JSON's `true` isn't taken for text.
 * @returns a row for each element of a list; none in place of one with a null, or with a value of another kind than
 *   the field
 */
function rowsIn(line: string, shape: Rows, fields: readonly FieldRef[]): readonly string[] {
  const { columns } = shape
  if (!hasElements(shape)) {
    const row = rowIn(line, columns, fields)
    return row === undefined ? [] : [row]
  }
  const [list] = Object.values(parseExact(line) as Readonly<Record<string, unknown>>)
  const mayEqualField = mayEqual[fields[0]?.type ?? 'json']
  const elements = Array.isArray(list) ? (list as readonly unknown[]) : []
  return elements.filter(one => one !== null && mayEqualField(one)).map(one => JSON.stringify([one]))
}

/** @returns undefined for a row with a null, or with a value of another kind than the field */
function rowIn(line: string, columns: readonly Column[], fields: readonly FieldRef[]): string | undefined {
  const row = parseExact(line) as Readonly<Record<string, unknown>>
  const written = columns.some(({ type }) => type === 'text') ? (parseWritten(line) as typeof row) : row
  const values = columns.map(({ name, type }, at) => {
    const value = row[name] ?? null
    if (value === null) return null
    const typed = type === 'text' ? textForm(written[name]) : value
    if (!mayEqual[fields[at]?.type ?? 'json'](typed)) return null
    return type === 'date-time' && typeof typed === 'string' ? inUtc(typed) : typed
  })
  return values.includes(null) ? undefined : JSON.stringify(values)
}

const isNumber = (value: unknown) => typeof value === 'number' || exactText(value) !== undefined
const isText = (value: unknown) => typeof value === 'string'

/** Tests, by the type of a field, if it may have a value. */
const mayEqual: Readonly<Record<FieldRef['type'], (value: unknown) => boolean>> = {
  text: isText,
  integer: isNumber,
  number: isNumber,
  boolean: value => typeof value === 'boolean',
  'date-time': isText,
  json: () => true,
}
