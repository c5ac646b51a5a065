import { quote } from '../../http/parameters.ts'
import type { Entity } from '../../model/entities.ts'
import type { Column, FieldRef, Plan } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { uniqueNames } from './columns.ts'
import { type Found, findField, typeNames, whole } from './fields.ts'
import { noPaging, type Paging } from './paging.ts'
import { entityScope, most, type Scope } from './scope.ts'
import { whereOf } from './where.ts'
import { described, operatorOf, wrong } from './wrong.ts'

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
function requireComparable(node: Node, one: Found, other: Found): void {
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
