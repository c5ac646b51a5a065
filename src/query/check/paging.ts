import type { Node } from '../language/node.ts'
import type { From } from './form.ts'
import { most } from './scope.ts'
import { type ArrayNode, described, operatorOf, wrong } from './wrong.ts'

/** The clauses of `from`, as far as they can be read without knowing the sorted rows. */
export interface Paging {
  readonly limit: number | null
  readonly offset: number
  readonly order: readonly OrderEntry[]
}

export interface OrderEntry {
  /** The name of a field or a column, or a function. */
  readonly by: Node
  readonly descending: boolean
}

export const noPaging: Paging = { limit: null, offset: 0, order: [] }

export const readPaging = ({ limit, offset, order_by }: From['clauses']): Paging => ({
  limit: limit ? wholeNumber(limit, 1) : null,
  offset: offset ? wholeNumber(offset, 0) : 0,
  order: order_by ? orderEntries(order_by) : [],
})

function wholeNumber(clause: ArrayNode, least: number): number {
  const value = onlyArgument(clause, `["${operatorOf(clause)}", 10]`)
  const number = value.kind === 'number' && /^\d+$/.test(value.text) ? Number(value.text) : Number.NaN
  if (number >= least && number <= Number.MAX_SAFE_INTEGER) return number
  throw wrong(
    value,
    `${operatorOf(clause)} takes a whole number, ${least} or more, not ${described(value)}.`,
    { legal: { least, most: Number.MAX_SAFE_INTEGER } },
  )
}

/** Returns the argument of a clause. @throws QueryError unless there is exactly one */
export function onlyArgument(clause: ArrayNode, form: string): Node {
  const [, value, more] = clause.items
  if (value && !more) return value
  const what = value ? 'more than one argument' : 'no argument'
  throw wrong(more ?? clause, `${operatorOf(clause)} has ${what}. Write ${form}.`, { form })
}

const orderForm = '["order_by", ["field", ["other", "desc"]]]'

function orderEntries(clause: ArrayNode): readonly OrderEntry[] {
  const list = onlyArgument(clause, orderForm)
  if (list.kind !== 'array')
    throw wrong(list, `order_by takes a list, not ${described(list)}. Write ${orderForm}.`)
  if (list.items.length > most.orders) throw wrong(list, `order_by has at most ${most.orders} entries.`)
  return list.items.map(orderEntry)
}

function orderEntry(node: Node): OrderEntry {
  if (node.kind !== 'array' || operatorOf(node) === 'function') return { by: node, descending: false }
  const [by, direction, more] = node.items
  if (!by || more)
    throw wrong(
      more ?? node,
      `An entry of order_by is a field, or a field and "asc" or "desc". Write ${orderForm}.`,
    )
  if (!direction) return { by, descending: false }
  if (direction.kind === 'text' && (direction.text === 'asc' || direction.text === 'desc'))
    return { by, descending: direction.text === 'desc' }
  throw wrong(direction, `The order is "asc" or "desc", not ${described(direction)}.`, {
    legal: ['asc', 'desc'],
  })
}
