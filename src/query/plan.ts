import { badParameter } from '../http/parameters.ts'
import type { Problem } from '../http/problems.ts'
import { memo, RecentlyUsed } from '../lib/memo.ts'
import type { Entity } from '../model/entities.ts'
import { equality } from '../model/operators/list.ts'
import { type Condition, type Constant, listOf, type Plan } from '../model/plan.ts'
import { leavesOf, plansIn, withParts, withRelated } from '../model/plan-fields.ts'
import { type Context, check } from './check/check.ts'
import { clauseOf } from './check/clauses.ts'
import { operatorOf } from './check/wrong.ts'
import { type Node, type Place, QueryError } from './language/node.ts'
import { markerOf } from './language/pql-errors.ts'
import { readAst } from './language/read-ast.ts'
import { readPql } from './language/read-pql.ts'
import { type Asked, orderOf, pageOf, type Sortable } from './parse.ts'

export interface Known extends Pick<Context, 'entities' | 'mayRead'> {
  /** The entity of the address; null at the query base, where the query names one. */
  readonly entity: Entity | null
}

export interface KnownEntity extends Known {
  readonly entity: Entity
}

/** A change that an address makes to a query. */
export type Change =
  /** A further condition that every record must match. */
  | { readonly also: Node }
  /** Columns to show of the listed records, clauses for them, and their order unless the request has one. */
  | { readonly columns: Node; readonly clauses: readonly Node[]; readonly order?: string }

/** @throws Problem 400 that says what is wrong, where, and what would be right (Q7, Q14) */
export function planOf(asked: Asked, known: Known, change?: Change): Plan {
  const { entity } = known
  if (entity && asked.query === undefined && change === undefined && entity.defaultCondition === undefined)
    return listOf(entity, pageOf(asked, entity))
  const { limit, offset, total } = asked
  const plan = change === undefined ? planBefore(asked, known) : checked(asked, known, change)
  // The parameters win over the clauses of the query.
  const page = {
    ...plan.page,
    ...(limit !== undefined && { limit }),
    ...(offset !== undefined && { offset }),
  }
  return { ...plan, page: { ...page, total } }
}

/** Plans of earlier queries, until an entity changes. Equal queries share one object. */
const plansOf = memo((_: Known['entities']) => new RecentlyUsed<string, Plan>(256))
const maxKeptText = 2_000
/**
 * Maximum number of entities for which plans are kept. With more, it would take too long to tell which are
 * readable.
 */
const maxEntities = 100

function planBefore(asked: Asked, known: Known): Plan {
  const { entities, entity, mayRead } = known
  const { order = '', query = '' } = asked
  if (order.length + query.length > maxKeptText || entities.size > maxEntities) return checked(asked, known)
  // An absent order counts as an empty one.
  const key = `${readableIn(entities, mayRead)} ${entity?.name} ${order.length} ${order}${query}`
  return plansOf(entities).use(key, () => checked(asked, known))
}

/** The last list that was asked about with a function, and a digit for each of its entities. */
const readables = new WeakMap<Known['mayRead'], Pick<Known, 'entities'> & { readonly digits: string }>()

/** Tells which of the entities are readable, as text. */
function readableIn(entities: Known['entities'], mayRead: Known['mayRead']): string {
  const known = readables.get(mayRead)
  if (known?.entities === entities) return known.digits
  let digits = ''
  for (const one of entities.values()) digits += mayRead(one) ? '1' : '0'
  readables.set(mayRead, { entities, digits })
  return digits
}

function checked({ order: ordered, query }: Asked, known: Known, change?: Change): Plan {
  const order = ordered ?? (change && 'columns' in change ? change.order : undefined)
  const sorted = order !== undefined && { order: (sortable: Sortable) => orderOf(order, sortable) }
  const given: Context['given'] = { ...sorted, total: false }
  return telling(query ?? '', () => {
    const node = query === undefined ? null : readQuery(query, known.entity)
    return check(change === undefined ? node : changed(node, change), { ...known, given })
  })
}

const changed = (query: Node | null, change: Change): Node =>
  'also' in change ? narrowed(query, change.also) : projected(query, change.columns, change.clauses)

/** At an entity, a query is an AST; at the base it may be PQL, too (Q14). */
export function readQuery(text: string, entity: Entity | null): Node {
  if (/^\s*\[/.test(text)) return readAst(text)
  if (entity === null) return readPql(text)
  throw new QueryError(
    `A query at ${entity.name} is a JSON array such as ["=", "${entity.fields[0]?.name ?? 'name'}", "value"]. PQL goes to the query base.`,
    { pointer: '' },
  )
}

/** Turns a QueryError of the work into a problem. @throws Problem 400 */
export function telling<T>(query: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof QueryError ? problemOf(error, query) : error
  }
}

/** Maximum length of a pointer in characters. Keys of objects are parts of pointers, and may be long. */
const maxPointer = 1_000

const shortPlace = (at: Place): Place =>
  'pointer' in at && at.pointer.length > maxPointer ? { pointer: `${at.pointer.slice(0, maxPointer)}…` } : at

function problemOf({ message, at: exactly, members }: QueryError, query: string): Problem {
  const at = shortPlace(exactly)
  // Messages of the PQL reader begin with the place.
  const isSaid = /^Line \d+, column \d+:/.test(message)
  const place =
    'pointer' in at
      ? at.pointer === ''
        ? ''
        : ` at ${at.pointer}`
      : ` at line ${at.line}, column ${at.column}`
  const marker = markerOf(query, at)
  const shown = marker === undefined ? {} : { marker }
  return badParameter(
    'query',
    query,
    isSaid ? `The query is wrong. ${message}` : `The query is wrong${place}: ${message}`,
    {
      ...at,
      ...shown,
      ...members,
    },
  )
}

/** @returns the query with a further condition, inside of `from` and of its projection if it has them */
function narrowed(query: Node | null, also: Node): Node {
  if (query === null) return also
  const { at } = query
  const operator = operatorOf(query)
  if (query.kind !== 'array' || (operator !== 'extract' && operator !== 'from'))
    return { kind: 'array', items: [text('and', at), query, also], at }
  const [word, subject, ...rest] = query.items
  if (word === undefined || subject === undefined) return query
  const place = rest.findIndex(one => clauseOf(one) === undefined)
  const others = rest.filter((_, n) => n !== place)
  return { kind: 'array', items: [word, subject, narrowed(rest[place] ?? null, also), ...others], at }
}

/** @returns a projection of the query to these columns */
function projected(query: Node | null, columns: Node, clauses: readonly Node[]): Node {
  const { at } = columns
  return {
    kind: 'array',
    items: [text('extract', at), columns, ...(query === null ? [] : [query]), ...clauses],
    at,
  }
}

const text = (word: string, at: Node['at']): Node => ({ kind: 'text', text: word, at })

/** Maximum number of constants that stay parts of a plan between threads, where ten parts take 10 µs. */
const maxConstants = 2_000

/** Writes each list of constants as one text if the plan has very many constants. */
export function shortened(plan: Plan): Plan {
  return constantsIn(plan) <= maxConstants ? plan : changedPlan(plan, asRows, same)
}

/** Puts these entities in place of the plan's copies. */
export const withEntities = (plan: Plan, entities: ReadonlyMap<string, Entity>): Plan =>
  changedPlan(plan, same, entity => entities.get(entity.name) ?? entity)

const same = <T>(value: T): T => value

/** The constants of a list, if there are several. */
function listIn(condition: Condition) {
  const equal = equality(condition)
  return equal && equal.values.length > 1 ? equal : undefined
}

function asRows(condition: Condition): Condition {
  const list = listIn(condition)
  if (!list) return condition
  const { field, values, negated } = list
  return { kind: 'in rows', fields: [field], rows: `[${values.map(rowOf).join()}]`, negated }
}

function rowOf(constant: Constant): string {
  if (constant.kind === 'json') return `[${constant.json}]`
  if (constant.kind === 'boolean') return `[${constant.value}]`
  return `[${constant.kind === 'number' ? constant.text : JSON.stringify(constant.text)}]`
}

const constantsIn = ({ where }: Plan): number =>
  leavesOf(where).reduce((sum, leaf) => sum + (listIn(leaf)?.values.length ?? 0), 0) +
  plansIn(where).reduce((sum, plan) => sum + constantsIn(plan), 0)

/** Changes a plan. The recursion is as deep as the query at most. */
function changedPlan(
  plan: Plan,
  leaf: (condition: Condition) => Condition,
  entity: (one: Entity) => Entity,
): Plan {
  const change = (condition: Condition): Condition =>
    withParts(leaf(condition), { condition: change, plan: inner => changedPlan(inner, leaf, entity) })
  const made = { ...plan, entity: entity(plan.entity), where: plan.where && change(plan.where) }
  return withRelated(made, related =>
    'rows' in related.of ? related : { ...related, of: changedPlan(related.of, leaf, entity) },
  )
}
