import type { Entity, Order, Page } from '../../model/entities.ts'
import { type Condition, type FieldRef, listOf, type Plan, type Rows } from '../../model/plan.ts'
import { type Node, printAst, QueryError } from '../language/node.ts'
import { readAst } from '../language/read-ast.ts'
import { readPqlCondition } from '../language/read-pql.ts'
import { type From, readExtract, readFrom, readPaging, readSample } from './clauses.ts'
import { checkCondition } from './conditions.ts'
import { readComputed } from './functions.ts'
import { plainOrder, type RowOrder, readOrder, sortable } from './order.ts'
import { allColumns, type Projection, readProjection } from './projection.ts'
import { readRelated } from './related.ts'
import { type Checked, entityScope, findEntity, type Scope, type Shared, sharedBy } from './scope.ts'
import { whereOf } from './subqueries.ts'
import { operatorOf, wrong } from './wrong.ts'

export interface Context {
  readonly entities: ReadonlyMap<string, Entity>
  readonly mayRead: (entity: Entity) => boolean
  /** The entity of the address; null at the query base, where the query names it. */
  readonly entity: Entity | null
  /** The parameters of the request, which win over the clauses of the outermost `from`. */
  readonly given: Given
}

interface Given {
  /**
   * Reads the parameter `order_by`; undefined if it isn't given.
   * @param sortable its fields are what can be sorted by
   */
  readonly order?: ((sortable: Pick<Entity, 'name' | 'fields'>) => readonly Order[]) | undefined
  /** The parameter `limit`; null if it isn't given. */
  readonly limit?: number | null | undefined
  readonly offset?: number | undefined
  readonly total: boolean
}

/**
 * Turns a query into a plan: every field in it exists, every value has the type of its field, and the caller
 * may read every entity (docs/decisions/0034).
 * @param query null for all records
 * @throws QueryError that names the place and what would be right there
 */
export function check(query: Node | null, { entities, mayRead, entity, given }: Context): Plan {
  const shared = sharedBy({
    entities,
    mayRead,
    condition: checkCondition,
    computed: readComputed,
    related: readRelated,
  })
  const outermost = readOutermost(query, entity, shared)
  const scope = entityScope(outermost.entity, shared, 0)
  const paging = readPaging(outermost.clauses)
  const page: Page = {
    order: [],
    offset: given.offset ?? paging.offset,
    limit: given.limit ?? paging.limit,
    total: given.total,
  }
  const body = outermost.query
  const extract = body?.kind === 'array' && operatorOf(body) === 'extract' ? readExtract(body) : null
  const matching = whereOf(extract ? extract.where : body, scope)
  const { sample } = outermost.clauses
  const where = sample ? sampleOf(outermost.entity, matching, readSample(sample)) : matching
  const projection = extract && !isEverything(extract) ? readProjection(extract, scope) : null
  const named = given.order?.(sortable(projection, scope))
  const entries = named?.map(one => ({ by: nameNode(one.field), descending: one.descending })) ?? paging.order
  const order = readOrder(entries, projection, scope)
  const whole = projection ? undefined : plainOrder(order)
  // Equal orders of earlier requests are the same arrays, by which the stores recognize them.
  if (whole) return { ...listOf(scope.entity ?? outermost.entity, { ...page, order: named ?? whole }), where }
  return { entity: outermost.entity, where, shape: rowsOf(projection, order, scope), page }
}

/** Makes the condition that a record is in a sample of those that match. */
function sampleOf(entity: Entity, where: Checked, asked: ReturnType<typeof readSample>): Condition {
  const types = new Map(entity.fields.map(({ name, type }) => [name, type]))
  const fields = [entity.key]
    .flat()
    .map((name): FieldRef => ({ name, path: [], type: types.get(name) ?? 'text' }))
  const shape: Rows = {
    kind: 'rows',
    columns: fields.map(field => ({ name: field.name, value: { kind: 'field', field }, type: field.type })),
    groups: null,
    having: null,
    distinct: false,
    order: [{ by: { kind: 'shuffle', fields, seed: asked.seed }, descending: false }],
  }
  const page = { order: [], offset: 0, limit: asked.size, total: false }
  return { kind: 'sample', plan: { entity, where, shape, page }, ...asked }
}

/** True for all fields without clauses. That is the same as whole records, which are faster. */
const isEverything = ({ columns, clauses }: ReturnType<typeof readExtract>) =>
  columns.kind === 'array' && columns.items.length === 0 && Object.keys(clauses).length === 0

/** Makes a node of a name in a parameter, which has no place in the query. */
const nameNode = (text: string): Node => ({ kind: 'text', text, at: { pointer: '' } })

function rowsOf(projection: Projection | null, order: RowOrder, scope: Scope): Rows {
  const { columns, groups, having, distinct, withEmpty } = projection ?? {
    columns: allColumns(nameNode(''), scope),
    groups: null,
    having: null,
    distinct: false,
    withEmpty: false,
  }
  return {
    kind: 'rows',
    columns: columns.map(({ name, value, type }) => ({ name, value, type })),
    groups: groups?.map(({ value }) => value) ?? null,
    having,
    distinct,
    ...(withEmpty && { withEmpty }),
    order,
  }
}

/**
 * Entities of which PuppetDB takes an empty query as none. To a query of others it adds that their node is active, and an
 * empty one is an error beside that.
 */
const takeEmpty = new Set(['catalogs', 'environments', 'events', 'packages', 'producers', 'reports'])

const isNone = (query: Node | null, { name }: Entity): boolean =>
  query?.kind === 'array' && query.items.length === 0 && takeEmpty.has(name)

interface Outermost extends Omit<From, 'entity'> {
  readonly entity: Entity
}

function readOutermost(query: Node | null, entity: Entity | null, shared: Shared): Outermost {
  const isFrom = query?.kind === 'array' && operatorOf(query) === 'from'
  if (!entity) {
    if (!isFrom)
      throw query
        ? wrong(query, 'A query says here which entity it is about: ["from", "entity", query].')
        : new QueryError('A query is required here: ["from", "entity", query].', { pointer: '' })
    const from = readFrom(query)
    return { ...from, entity: findEntity(from.entity, shared) }
  }
  if (!isFrom) return { entity, query: isNone(query, entity) ? null : query, clauses: {} }
  const from = readFrom(query)
  if (findEntity(from.entity, shared).name !== entity.name)
    throw wrong(
      from.entity,
      `This address lists ${entity.name}. Ask for other entities at the query base, or leave out from.`,
      { legal: [entity.name] },
    )
  return { ...from, entity }
}

/**
 * Checks a condition that queries of this entity have by default (Q25).
 * @param text PQL, or an AST
 * @returns the AST as it is stored
 * @throws QueryError that names the place of the mistake
 */
export function defaultConditionOf(text: string, entity: Entity): string {
  const node = /^\s*[[{"]/.test(text) ? readAst(text) : readPqlCondition(text)
  const { defaultCondition: _, ...plain } = entity
  const declared = { ...plain, defaultCondition: printAst(node) }
  // The condition is first checked as a query of its own, which names the place of a mistake.
  check(node, alone(plain))
  check(null, alone(declared))
  return declared.defaultCondition
}

/** Makes a context that knows this entity alone, because a default condition can't refer to others. */
const alone = (entity: Entity) => ({
  entity,
  entities: new Map([[entity.name, entity]]),
  mayRead: () => true,
  given: { total: false },
})
