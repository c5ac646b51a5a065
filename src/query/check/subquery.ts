import { commaList, listed, quote } from '../../http/parameters.ts'
import type { Entity } from '../../model/entities.ts'
import { relationsBetween } from '../../model/relations.ts'
import type { Node } from '../language/node.ts'
import { type Found, fieldNamed, whole } from './fields.ts'
import { findEntity } from './find-entity.ts'
import { innerPlan, innerScope } from './inner-plan.ts'
import { type Checked, countLeaves, type Scope } from './scope.ts'
import { nameIn } from './shorthands.ts'
import { type ArrayNode, argumentsOf, operatorOf, requireCount, wrong } from './wrong.ts'

/** `["subquery", entity, condition]`: a short form of `in` for related entities (docs/decisions/0037). */
export function subquery(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const [, name = node, query = null, more] = node.items
  if (node.items.length === 1 || more)
    throw wrong(
      more ?? node,
      'subquery takes an entity and a condition. Write ["subquery", "entity", condition].',
      {
        form: '["subquery", "entity", condition]',
      },
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
  const plan = innerPlan(node, outerFields, innerFields, { query, scope: inner })
  return { kind: 'in plan', fields: outerFields.map(({ ref }) => ref), plan, negated }
}

/** Finds a field of a relation, which a later import may have removed. */
function relatedField(name: string, scope: Scope, node: Node): Found {
  const field = fieldNamed(name, scope)
  if (field) return whole(field)
  throw wrong(node, `The relation is by ${quote(name)}, and ${scope.name} has no such field any more.`)
}

function unrelated(node: Node, entity: Entity, other: Entity, { shared }: Scope): Error {
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
      {
        legal: factOperators,
      },
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
