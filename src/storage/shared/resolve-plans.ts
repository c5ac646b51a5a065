import { parseExact } from '../../lib/json.ts'
import type { Entity } from '../../model/entities.ts'
import { TooMuch } from '../../model/errors.ts'
import type { Column, Condition, Plan } from '../../model/plan.ts'
import type { Listing } from '../entities.ts'

/** How an engine runs plans inside conditions (docs/decisions/0037). */
export interface PlanRunner {
  /** Whether conditions on this entity can take the plan as it is. */
  inPlace(outer: Entity, inner: Plan): boolean
  /** Lists the rows of a plan as lines of JSON. */
  list(plan: Plan): Promise<Listing>
}

/** Of the rows of a plan that other engines or entities need, so many are held in memory, and so many bytes. */
const maxRows = 1_000_000
const maxBytes = 64 * 1024 * 1024

/**
 * Runs the plans inside of a plan's condition that the engine can't run in place, and puts their rows there instead.
 * @throws TooMuch if they have too many rows
 */
export async function resolvePlans(plan: Plan, runner: PlanRunner): Promise<Plan> {
  if (plan.where === null || !hasPlans(plan.where)) return plan
  return { ...plan, where: await resolve(plan.where, plan.entity, runner) }
}

const hasPlans = (where: Condition): boolean =>
  where.kind === 'in plan' || ((where.kind === 'and' || where.kind === 'or') && where.of.some(hasPlans))

async function resolve(where: Condition, outer: Entity, runner: PlanRunner): Promise<Condition> {
  switch (where.kind) {
    case 'and':
    case 'or': {
      const of: Condition[] = []
      // One after the other, so that a query has one turn at a time.
      for (const one of where.of) of.push(await resolve(one, outer, runner))
      return { kind: where.kind, of }
    }
    case 'in plan': {
      const { fields, negated } = where
      if (runner.inPlace(outer, where.plan)) return { ...where, plan: await resolvePlans(where.plan, runner) }
      return { kind: 'in rows', fields, rows: await rowsOf(where.plan, runner), negated }
    }
    default:
      return where
  }
}

/** @returns a JSON array of the rows that have no null, each once */
async function rowsOf(plan: Plan, { list }: PlanRunner): Promise<string> {
  const { shape } = plan
  if (shape.kind !== 'rows') throw new Error('a plan inside a condition lists whole records')
  const { body } = await list({ ...plan, page: { ...plan.page, total: false } })
  const rows = new Set<string>()
  let bytes = 0
  for await (const line of linesOf(body)) {
    const row = rowIn(line, shape.columns)
    if (row === undefined || rows.has(row)) continue
    rows.add(row)
    bytes += row.length
    if (rows.size > maxRows || bytes > maxBytes)
      throw new TooMuch(
        `The subquery on ${plan.entity.name} has more than ${maxRows.toLocaleString('en')} different rows, or 64 MB of them. Add a condition to it, or ask the other way round: query ${plan.entity.name}, with a subquery on the other entity.`,
      )
  }
  return `[${[...rows].join()}]`
}

async function* linesOf(body: Listing['body']): AsyncIterable<string> {
  const decoder = new TextDecoder()
  for await (const piece of body instanceof Uint8Array ? [body] : body)
    for (const line of decoder.decode(piece).split('\n')) if (line !== '') yield line
}

/** @returns undefined for a row that has a null */
function rowIn(line: string, columns: readonly Column[]): string | undefined {
  const row = parseExact(line) as Readonly<Record<string, unknown>>
  const values = columns.map(({ name, type }) => {
    const value = row[name] ?? null
    return type === 'date-time' && typeof value === 'string' ? inUtc(value) : value
  })
  return values.includes(null) ? undefined : JSON.stringify(values)
}

/** An instant in UTC, with as many digits as it was given (RFC 3339 §5.6). */
export function inUtc(text: string): string {
  const [, head = '', fraction = '', zone = ''] = /^(.{19})(?:\.(\d+))?(.+)$/.exec(text) ?? []
  // Date knows no leap seconds.
  const at = Date.parse(`${head.replace(/[t ]/, 'T').replace(/60$/, '59')}${zone.toUpperCase()}`)
  if (Number.isNaN(at)) return text
  const seconds = new Date(at).toISOString().replace(/\.\d+Z$/, '')
  const digits = fraction.replace(/0+$/, '')
  return `${head.endsWith('60') ? seconds.replace(/59$/, '60') : seconds}${digits === '' ? '' : `.${digits}`}Z`
}
