import { badParameter, type Query, quote, singleParameters, wholeNumber } from '../http/parameters.ts'
import { RecentlyUsed } from '../lib/recently-used.ts'
import type { Entity, Order, Page } from '../model/entities.ts'
import { parseOrder } from './order-by.ts'

/**
 * Parsing is validation: the result is a page that can be run. Everything else is a problem that says which parameter is
 * wrong, where in it, and what would be right (Q2–Q5, Q7).
 */
const parameters = ['order_by', 'limit', 'offset', 'include_total'] as const

type Sortable = Pick<Entity, 'name' | 'fields'>

export function parsePage(query: Query, entity: Sortable): Page {
  const given = singleParameters(query, parameters)
  return {
    order: given.order_by === undefined ? [] : knownOrder(given.order_by, entity),
    limit: given.limit === undefined ? null : wholeNumber('limit', given.limit, 1),
    offset: given.offset === undefined ? 0 : wholeNumber('offset', given.offset, 0),
    total: given.include_total !== undefined && parseBoolean('include_total', given.include_total),
  }
}

/** Clients ask for the same few orders again and again. An entity is the same object until it changes. */
const known = new WeakMap<Sortable, RecentlyUsed<string, readonly Order[]>>()
const maxCachedOrders = 100
const maxCachedLength = 1_000

function knownOrder(text: string, entity: Sortable): readonly Order[] {
  if (text.length > maxCachedLength) return parseOrder(text, entity)
  let orders = known.get(entity)
  if (orders === undefined) {
    orders = new RecentlyUsed(maxCachedOrders)
    known.set(entity, orders)
  }
  let order = orders.get(text)
  if (order === undefined) {
    order = parseOrder(text, entity)
    orders.add(text, order)
  }
  return order
}

function parseBoolean(parameter: string, text: string): boolean {
  if (/^true$/i.test(text)) return true
  if (/^false$/i.test(text)) return false
  throw badParameter(
    parameter,
    text,
    `The parameter ${parameter} must be true or false, not ${quote(text)}.`,
    { legal: ['true', 'false'] },
  )
}
