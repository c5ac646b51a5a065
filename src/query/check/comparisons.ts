import { quote } from '../../http/parameters.ts'
import type { Condition, FieldRef } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { constantFor } from './constants.ts'
import { type Found, typeNames } from './fields.ts'
import type { Checked, Scope } from './scope.ts'
import { countLeaves } from './scope.ts'
import { lowered, subjectOf } from './shorthands.ts'
import { type ArrayNode, described, operatorOf, requireCount, wrong } from './wrong.ts'

type Order = '<' | '<=' | '>' | '>='

const opposite: Readonly<Record<Order, Order>> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<' }

export const isOrder = (operator: string): operator is Order => Object.hasOwn(opposite, operator)

/** `["=", field, value]`. A comparison with null matches records without a value, as in PuppetDB. */
export function equals(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  requireCount(node, 2, '["=", field, value]')
  const [, subject = node, value = node] = node.items
  const found = subjectOf(subject, scope)
  countLeaves(node, scope)
  if (value.kind === 'null') return { kind: 'null', field: found.ref, negated }
  return equal(found.ref, constantFor(found, lowered(value, found), scope), negated)
}

function equal(field: FieldRef, value: ReturnType<typeof constantFor>, negated: boolean): Condition {
  if (value.kind === 'boolean' && field.type === 'boolean' && negated)
    return {
      kind: 'compare',
      field,
      operator: '=',
      value: { kind: 'boolean', value: !value.value },
      negated: false,
    }
  return { kind: 'compare', field, operator: '=', value, negated }
}

/** `["<", field, value]`, and the same for `<=`, `>` and `>=`. */
export function inOrder(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const operator = operatorOf(node) ?? ''
  if (!isOrder(operator)) throw wrong(node, `${operator} is no order.`)
  requireCount(node, 2, `["${operator}", field, value]`)
  const [, subject = node, value = node] = node.items
  const found = subjectOf(subject, scope)
  countLeaves(node, scope)
  requireOrder(found, operator, subject)
  const { ref } = found
  if (ref.type === 'json' && value.kind !== 'number')
    throw wrong(value, `${operator} compares JSON with numbers, and ${described(value)} is none.`)
  const constant = constantFor(found, value, scope)
  // A value of JSON that isn't a number is neither less nor more, so the negation isn't the opposite
  // comparison.
  if (negated && ref.type !== 'json')
    return { kind: 'compare', field: ref, operator: opposite[operator], value: constant, negated: false }
  return { kind: 'compare', field: ref, operator, value: constant, negated }
}

function requireOrder({ ref, field }: Found, operator: string, node: Node): void {
  const hasOrder = ref.type === 'json' || (ref.type !== 'boolean' && field.sortable !== false)
  if (hasOrder) return
  const what = ref.type === 'boolean' ? `is ${typeNames.boolean}` : 'has values without an order'
  throw wrong(node, `${operator} can't compare ${quote(field.name)}, which ${what}. Use = or in.`, {
    legal: ['=', 'in', 'null?'],
  })
}

/** `["null?", field, true]` */
export function isNull(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  requireCount(node, 2, '["null?", field, true]')
  const [, subject = node, wanted = node] = node.items
  const { ref } = subjectOf(subject, scope)
  countLeaves(node, scope)
  if (wanted.kind !== 'boolean')
    throw wrong(wanted, `The second argument of null? is true or false, not ${described(wanted)}.`, {
      legal: [true, false],
    })
  return { kind: 'null', field: ref, negated: wanted.value === negated }
}
