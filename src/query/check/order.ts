import { commaList, listed, quote, suggestion } from '../../http/parameters.ts'
import type { Entity, Field, Order } from '../../model/entities.ts'
import { isWholeField, type Rows, type Scalar } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import type { OrderEntry } from './clauses.ts'
import { fieldNamed, findField } from './fields.ts'
import { readFunction, relevanceOf } from './functions.ts'
import type { Projection } from './projection.ts'
import type { Scope } from './scope.ts'
import { requireOrdered } from './subqueries.ts'
import { described, inLanguage, operatorOf, wrong } from './wrong.ts'

export type RowOrder = Rows['order']

type By = RowOrder[number]['by']

/** Name in `order_by` for how well records match a search. */
const relevance = 'relevance'

/** Reads the entries of `order_by`. @param projection null for whole records */
export function readOrder(
  entries: readonly OrderEntry[],
  projection: Projection | null,
  scope: Scope,
): RowOrder {
  const order = new Map<string, RowOrder[number]>()
  for (const { by: node, descending } of entries) {
    const by = orderedBy(node, projection, scope)
    if (projection?.withEmpty) requireBucket(by, projection, node)
    const key = JSON.stringify(by)
    // A repeated entry can't break a tie (Q17).
    if (!order.has(key)) order.set(key, { by, descending })
  }
  return [...order.values()]
}

/** With empty buckets, rows are sorted by the bucket alone. */
function requireBucket(by: By, { columns, groups }: Projection, node: Node): void {
  const value = typeof by === 'number' ? columns[by]?.value : by
  if (JSON.stringify(value) === JSON.stringify(groups?.[0]?.value)) return
  throw wrong(node, 'With empty buckets, rows are sorted by the bucket alone, upwards or downwards.')
}

function orderedBy(node: Node, projection: Projection | null, scope: Scope): By {
  if (node.kind === 'array' && operatorOf(node) === 'function') return byFunction(node, projection, scope)
  if (node.kind !== 'text')
    throw wrong(node, `order_by names a field or a column, not ${described(node)}.`, {
      legal: listed(namesIn(projection, scope)),
    })
  const column = projection?.columns.findIndex(({ name }) => name === node.text) ?? -1
  if (projection && column >= 0) {
    if (!projection.columns[column]?.isSortable) throw unordered(node)
    return column
  }
  if (projection && (projection.isGrouped || projection.distinct)) return byGroup(node, projection, scope)
  if (node.text === relevance && !fieldNamed(relevance, scope)) return relevanceOf(node, scope)
  const found = findOrdered(node, scope)
  return { kind: 'field', field: found.ref }
}

function findOrdered(node: Extract<Node, { kind: 'text' }>, scope: Scope) {
  if (node.text === 'desc' && !fieldNamed('desc', scope))
    throw wrong(
      node,
      `${scope.name} has no field "desc". To sort from high to low, write ${inLanguage(node, '["order_by", [["field", "desc"]]]', 'order by field desc')}.`,
    )
  const found = findField(node, scope)
  requireOrdered(found, node)
  return found
}

const unordered = (node: Extract<Node, { kind: 'text' }>) =>
  wrong(node, `The values of ${quote(node.text)} have no order.`)

/** Rows of many records can only be sorted by values that all records of a row share. */
function byGroup(node: Extract<Node, { kind: 'text' }>, projection: Projection, scope: Scope): By {
  const group = groupsOf(projection).find(({ name }) => name === node.text)
  if (group) {
    if (!group.isSortable) throw unordered(node)
    return group.value
  }
  const names = namesIn(projection, scope)
  const { hint, members } = suggestion(node.text, names)
  const why = projection.isGrouped ? 'Groups are sorted' : 'Distinct rows are sorted'
  throw wrong(
    node,
    `${quote(node.text)} isn't in the result.${hint} ${why} by ${commaList(names) || 'nothing'}.`,
    members,
  )
}

/**
 * Rows can be sorted by groups that aren't shown, but not with `distinct`, which may merge rows of several
 * groups.
 */
const groupsOf = ({ groups, distinct }: Projection) => (distinct ? [] : (groups ?? []))

function byFunction(node: Extract<Node, { kind: 'array' }>, projection: Projection | null, scope: Scope): By {
  const { name, value } = readFunction(node, scope)
  const key = JSON.stringify(value)
  const column = projection?.columns.findIndex(one => JSON.stringify(one.value) === key) ?? -1
  if (column >= 0) return column
  const group = projection && groupsOf(projection).find(one => JSON.stringify(one.value) === key)
  if (group) return group.value
  if (value.kind !== 'aggregate' && !projection?.isGrouped && !projection?.distinct) return value
  throw wrong(node, `To sort by ${name}, show it: add it to extract.`, {
    legal: listed(namesIn(projection, scope)),
  })
}

const namesIn = (projection: Projection | null, scope: Scope): readonly string[] =>
  sortable(projection, scope).fields.map(({ name }) => name)

/**
 * Lists what the parameter `order_by` may name, as the fields of an entity. For plain records that is the
 * entity itself.
 */
export function sortable(projection: Projection | null, scope: Scope): Pick<Entity, 'name' | 'fields'> {
  const hasRelevance = scope.matches.length > 0 && !fieldNamed(relevance, scope)
  if (!projection && !hasRelevance && scope.entity) return scope.entity
  const fields = new Map<string, Field>()
  const add = (name: string, isSortable: boolean) => {
    const field: Field = { name, type: 'text', nullable: true }
    if (!fields.has(name)) fields.set(name, isSortable ? field : { ...field, sortable: false })
  }
  for (const { name, isSortable } of projection?.columns ?? []) add(name, isSortable)
  for (const { name, isSortable } of projection ? groupsOf(projection) : []) add(name, isSortable)
  if (!projection?.isGrouped && !projection?.distinct) {
    for (const { name, sortable: isSortable } of scope.fields) add(name, isSortable !== false)
    if (hasRelevance) add(relevance, true)
  }
  return { name: scope.name, fields: [...fields.values()] }
}

/** Returns the order of whole records; undefined unless all entries are plain fields. */
export function plainOrder(order: RowOrder): readonly Order[] | undefined {
  const plain = order.flatMap(({ by, descending }) =>
    isPlain(by) ? [{ field: by.field.name, descending }] : [],
  )
  return plain.length === order.length ? plain : undefined
}

const isPlain = (by: By): by is Extract<Scalar, { kind: 'field' }> =>
  typeof by === 'object' && by.kind === 'field' && isWholeField(by.field)
