import { commaList, listed, quote } from '../../http/parameters.ts'
import type { Entity } from '../../model/entities.ts'
import { type Column, type FieldRef, isOfElements, type Plan } from '../../model/plan.ts'
import { relationsBetween } from '../../model/relations.ts'
import { type Node, QueryError, uniqueNames } from '../language/node.ts'
import { readAst } from '../language/read-ast.ts'
import { noPaging, type Paging } from './clauses.ts'
import {
  elementsOf,
  type Found,
  fieldNamed,
  findField,
  nameIn,
  relationSide,
  typeNames,
  whole,
} from './fields.ts'
import { combined } from './normal-form.ts'
import {
  type Checked,
  countLeaves,
  entityScope,
  findEntity,
  most,
  type Scope,
  type Shared,
  sharedBy,
} from './scope.ts'
import { type ArrayNode, argumentsOf, described, operatorOf, requireCount, wrong } from './wrong.ts'

/** `["subquery", entity, condition]`: a short form of `in` for related entities (docs/decisions/0037). */
export function subquery(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const [, name = node, query = null, more] = node.items
  if (node.items.length === 1 || more)
    throw wrong(
      more ?? node,
      'subquery takes an entity and a condition. Write ["subquery", "entity", condition].',
      { form: '["subquery", "entity", condition]' },
    )
  return related(node, findEntity(name, scope.shared), { query, negated, name }, scope)
}

interface Related {
  readonly query: Node | null
  readonly negated: boolean
  /** The node that names the entity. */
  readonly name: Node
}

function related(node: ArrayNode, other: Entity, { query, negated, name }: Related, scope: Scope): Checked {
  const { entity } = scope
  if (!entity || scope.plainFor !== null)
    throw wrong(node, `${scope.plainFor ?? 'This condition'} can't have subqueries.`)
  const pairs = relationsBetween(scope.shared.entities, entity.name, other.name)
  if (!pairs) throw unrelated(name, entity, other, scope)
  countLeaves(node, scope)
  const inner = innerScope(other, node, scope)
  const outerFields = pairs.map(([field]) => relatedField(field, scope, name))
  for (const { field } of outerFields) scope.mentioned.add(field.name)
  const innerFields = pairs.map(([, field]) => relatedField(field, inner, name))
  const rows = pairs.length === 1 ? innerFields.map(elementsOf) : innerFields
  const plan = innerPlan(node, outerFields, rows, { query, scope: inner })
  return { kind: 'in plan', fields: outerFields.map(({ ref }) => ref), plan, negated }
}

/** Finds a side of a relation, whose field a later import may have removed or made another type. */
export function relatedField(name: string, scope: Scope, node: Node): Found {
  try {
    const side = relationSide(name, scope)
    if (side) return side
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
  }
  throw wrong(node, `The relation is by ${quote(name)}, and ${scope.name} has no such field any more.`)
}

export function unrelated(node: Node, entity: Entity, other: Entity, { shared }: Scope): Error {
  const legal = [...shared.entities.values()]
    .filter(one => shared.mayRead(one) && relationsBetween(shared.entities, entity.name, one.name))
    .map(({ name }) => name)
  return wrong(
    node,
    `${entity.name} has no relation to ${other.name}. It has relations to: ${commaList(legal) || 'none'}. Without one, write in.`,
    { legal: listed(legal) },
  )
}

const factOperators = ['=', '~', '<', '<=', '>', '>=', 'in']

/** True for a condition on `["fact", name]`. Entities with a field `fact` don't have that shorthand. */
export const isAboutFact = (node: ArrayNode, scope: Scope): boolean =>
  operatorOf(node.items[1]) === 'fact' && !fieldNamed('fact', scope)

/** `[operator, ["fact", name], value]` asks the related entity `facts`. */
export function aboutFact(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const [operator = node, fact = node] = node.items
  const text = operatorOf(node) ?? ''
  if (!factOperators.includes(text))
    throw wrong(
      node,
      `["fact", …] can't be asked with ${quote(text)}. Write ["subquery", "facts", condition].`,
      { legal: factOperators },
    )
  const name = fact.kind === 'array' ? nameIn(fact) : ''
  const said = (word: string): Node => ({ kind: 'text', text: word, at: fact.at })
  const list = (...items: readonly Node[]): ArrayNode => ({ kind: 'array', items, at: node.at })
  requireCount(node, 2, `["${text}", ["fact", "name"], value]`)
  const query = list(
    said('and'),
    list(said('='), said('name'), said(name)),
    list(operator, said('value'), ...argumentsOf(node).slice(1)),
  )
  return related(node, findEntity(said('facts'), scope.shared), { query, negated, name: fact }, scope)
}

/** Makes the scope of a subquery. @throws QueryError if it is nested too deeply, or there are too many */
export function innerScope(entity: Entity, node: Node, { shared, depth }: Scope): Scope {
  if (depth >= most.subqueries) throw wrong(node, `Subqueries are nested at most ${most.subqueries} deep.`)
  if (--shared.plansLeft < 0)
    throw wrong(node, `A query has at most ${most.plans} subqueries.`, { most: most.plans })
  return entityScope(entity, shared, depth + 1)
}

/**
 * Makes the plan of a subquery, whose rows have as many plain fields as they are compared with.
 * @param node the place for messages
 */
export function innerPlan(
  node: Node,
  outer: readonly Found[],
  inner: readonly Found[],
  { query, scope, paging = noPaging }: { query: Node | null; scope: Scope; paging?: Paging },
): Plan {
  const { entity } = scope
  if (!entity) throw wrong(node, 'A subquery is about an entity.')
  if (inner.length !== outer.length)
    throw wrong(
      node,
      `${outer.length} ${outer.length === 1 ? 'field is' : 'fields are'} compared with ${inner.length} of ${entity.name}; there must be as many.`,
    )
  if (inner.length > 1 && inner.some(({ ref }) => isOfElements(ref)))
    throw wrong(
      node,
      'A subquery that compares elements of lists by [*] has one field on each side. Take one field, or an index in place of *.',
    )
  for (const [at, found] of outer.entries()) requireComparable(node, found, inner[at] ?? found)
  const where = whereOf(query, scope)
  // The order decides which rows there are only if some are left out.
  const isWhole = paging.limit === null && paging.offset === 0
  const order = paging.order.map(({ by, descending }) => ({ by: orderedBy(by, inner, scope), descending }))
  return {
    entity,
    where,
    shape: {
      kind: 'rows',
      columns: plainColumns(inner.map(({ ref }) => ref)),
      groups: null,
      having: null,
      distinct: false,
      order: isWhole ? [] : order,
    },
    page: { order: [], offset: paging.offset, limit: paging.limit, total: false },
  }
}

function plainColumns(fields: readonly FieldRef[]): readonly Column[] {
  const nameFor = uniqueNames()
  return fields.map(field => ({
    name: nameFor([field.name, ...field.path].join('.')),
    value: { kind: 'field', field },
    type: field.type,
  }))
}

/** Reads an entry of the order of a subquery. @returns a field, or the index of the column that shows it */
function orderedBy(node: Node, inner: readonly Found[], scope: Scope) {
  const found = findField(node, scope)
  requireOrdered(found, node)
  const at = inner.findIndex(({ ref }) => JSON.stringify(ref) === JSON.stringify(found.ref))
  return at < 0 ? ({ kind: 'field', field: found.ref } as const) : at
}

/** @throws QueryError for a field whose values have no order */
export function requireOrdered({ field }: Pick<Found, 'field'>, node: Node): void {
  if (field.sortable === false) throw wrong(node, `The values of ${quote(field.name)} have no order.`)
}

/** @throws QueryError for fields whose values are never equal */
export function requireComparable(node: Node, one: Found, other: Found): void {
  const kinds = [kindOf(one), kindOf(other)]
  const [first, second] = kinds
  if (first === second || (kinds.includes('json') && !kinds.includes('date-time'))) return
  throw wrong(
    node,
    `${quote(one.field.name)} is ${typeNames[one.ref.type]} and ${quote(other.field.name)} is ${typeNames[other.ref.type]}, so they can't be compared.`,
  )
}

const kindOf = ({ ref: { type } }: Found) => (type === 'integer' ? 'number' : type)

/** Reads the fields of a subquery: one, a list, or all for `[]`. */
export function innerFields(node: Node, scope: Scope): readonly Found[] {
  if (node.kind !== 'array') return [findField(node, scope)]
  if (operatorOf(node) === 'function') throw noFunctions(node)
  if (node.items.length === 0) return scope.fields.map(whole)
  if (node.items.length > most.fields)
    throw wrong(node, `A subquery is compared by at most ${most.fields} fields, not ${node.items.length}.`)
  return node.items.map(item => {
    if (item.kind === 'array' && operatorOf(item) === 'function') throw noFunctions(item)
    if (item.kind !== 'text') throw wrong(item, `A subquery is compared by fields, not ${described(item)}.`)
    return findField(item, scope)
  })
}

const noFunctions = (node: Node) => wrong(node, 'A subquery is compared by plain fields, without functions.')

/** Joins the condition of a query with the default condition of its entity, unless it uses a field of that (Q25). */
export function whereOf(query: Node | null, scope: Scope): Checked {
  const own = query && scope.shared.condition(query, false, scope)
  const { entity } = scope
  if (entity?.defaultCondition === undefined) return own
  const added = defaultOf(entity, scope.shared)
  return added.fields.some(field => scope.mentioned.has(field))
    ? own
    : combined('and', [own, added.condition])
}

interface Default {
  readonly condition: Checked
  readonly fields: readonly string[]
}

const known = new WeakMap<Entity, Default>()

/** Reads a default condition once for each entity. It can't use other entities, so it is the same for every caller. */
function defaultOf(entity: Entity, shared: Shared): Default {
  let found = known.get(entity)
  if (found === undefined) {
    found = readDefault(entity, shared)
    known.set(entity, found)
  }
  return found
}

/** @throws QueryError. A condition that was right when it was declared can be wrong now if the fields have changed. */
function readDefault(entity: Entity, { condition, computed, related }: Shared): Default {
  const shared = sharedBy({ entities: new Map(), mayRead: () => false, condition, computed, related })
  const scope = entityScope(entity, shared, 0, 'A default condition')
  try {
    const checked = condition(readAst(entity.defaultCondition ?? ''), false, scope)
    return { condition: checked, fields: [...scope.mentioned] }
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    throw new QueryError(
      `The default condition of ${entity.name} is wrong, and its operator has to change it: ${error.message}`,
      { pointer: '' },
      error.members,
    )
  }
}
