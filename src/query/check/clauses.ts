import { suggestion } from '../../http/parameters.ts'
import type { Node } from '../language/node.ts'
import { most } from './scope.ts'
import { type ArrayNode, described, operatorOf, wrong } from './wrong.ts'

/** The parts of `from` as they were written; entities aren't looked up yet. */
export interface From {
  readonly entity: Node
  /** A condition or an `extract`; null: all records. */
  readonly query: Node | null
  readonly clauses: Clauses<FromClause>
}

export interface Extract {
  readonly node: ArrayNode
  readonly columns: Node
  readonly where: Node | null
  readonly clauses: Clauses<ExtractClause>
}

const fromClauses = ['limit', 'offset', 'order_by', 'sample'] as const
const extractClauses = ['group_by', 'having', 'distinct', 'with_empty'] as const

type FromClause = (typeof fromClauses)[number]
type ExtractClause = (typeof extractClauses)[number]
type Clauses<Name extends string> = Partial<Record<Name, ArrayNode>>

/** `["from", entity, query?, clause…]` */
export function readFrom(node: ArrayNode): From {
  const [, entity, ...rest] = node.items
  if (!entity) throw wrong(node, 'from names an entity: ["from", "entity", query, ["limit", 10]].')
  const { query, clauses } = readParts('from', fromClauses, rest)
  return { entity, query, clauses }
}

/** `["extract", columns, condition?, clause…]` */
export function readExtract(node: ArrayNode): Extract {
  const [, columns, ...rest] = node.items
  if (!columns)
    throw wrong(
      node,
      'extract names what is shown: ["extract", ["field", ["function", "count"]], condition].',
    )
  const { query, clauses } = readParts('extract', extractClauses, rest)
  return { node, columns, where: query, clauses }
}

/** Returns the name of the clause that a node is, in `from` or in `extract`; undefined for any other node. */
export const clauseOf = (node: Node): string | undefined => {
  const operator = operatorOf(node)
  return [...fromClauses, ...extractClauses].find(one => one === operator)
}

function readParts<Name extends FromClause | ExtractClause>(
  operator: string,
  names: readonly Name[],
  nodes: readonly Node[],
): { query: Node | null; clauses: Clauses<Name> } {
  let query: Node | null = null
  const clauses: Clauses<Name> = {}
  for (const node of nodes) {
    if (node.kind !== 'array')
      throw wrong(node, `${operator} takes a query and clauses, which are arrays, not ${described(node)}.`)
    const name = names.find(one => one === operatorOf(node))
    if (name !== undefined) {
      if (clauses[name])
        throw wrong(node, `There is more than one ${name}; ${operator} takes each clause once.`)
      clauses[name] = node
    } else {
      refuseMisplaced(node, operator, names, query !== null || Object.keys(clauses).length > 0)
      query = node
    }
  }
  return { query, clauses }
}

/**
 * Refuses a node that isn't a clause of this operator and can't be its query either, such as a second query.
 */
function refuseMisplaced(node: Node, operator: string, names: readonly string[], isQueryPast: boolean): void {
  const given = operatorOf(node)
  const legal = names.join(', ')
  if (clauseOf(node) !== undefined)
    throw wrong(
      node,
      `${given} is no clause of ${operator}, but of ${operator === 'from' ? 'extract' : 'from'}.`,
      { legal: names },
    )
  if (given === 'include_total')
    throw wrong(node, 'include_total is no clause. It is a parameter of the request.', { legal: names })
  if (!isQueryPast) return
  const { hint, members } = suggestion(given ?? '', names)
  throw wrong(
    node,
    `${operator} takes one query, and then the clauses ${legal}. Join conditions with and.${hint}`,
    members,
  )
}

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

/** Maximum number of records in a sample. */
const maxSample = 1_000_000
const maxSeed = 2 ** 32 - 1

/** `["sample", 100]` or `["sample", 100, seed]` */
export function readSample(clause: ArrayNode): { readonly size: number; readonly seed: number } {
  const [, size, seed, more] = clause.items
  if (!size || more)
    throw wrong(more ?? clause, 'sample takes a number of records, and a seed. Write ["sample", 100, 7].', {
      form: '["sample", 100, 7]',
    })
  return {
    size: numberBetween(size, 1, maxSample, 'The size of a sample'),
    seed: seed ? numberBetween(seed, 0, maxSeed, 'A seed') : 0,
  }
}

function numberBetween(node: Node, least: number, most: number, what: string): number {
  const number = node.kind === 'number' && /^\d{1,16}$/.test(node.text) ? Number(node.text) : -1
  if (number >= least && number <= most) return number
  throw wrong(
    node,
    `${what} is a whole number from ${least} to ${most.toLocaleString('en')}, not ${described(node)}.`,
    { legal: { least, most } },
  )
}

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
