import {
  badParameter,
  parseBoolean,
  type Query,
  quote,
  singleParameters,
  wholeNumber,
} from '../http/parameters.ts'
import { RecentlyUsed } from '../lib/memo.ts'
import type { Entity, Order, Page } from '../model/entities.ts'
import { parseOrder } from './order-by.ts'

/**
 * Parsing is validation: the result can be made a plan. Everything else is a problem that says which
 * parameter is wrong, where in it, and what would be right (Q2–Q5, Q7, Q14).
 */

const parameters = [
  'query',
  'order_by',
  'limit',
  'offset',
  'include_total',
  'pretty',
  'explain',
  'timeout',
  'origin',
] as const

/** The parameters of a request, read before it is known what can be sorted by. */
export interface Asked extends Omit<Page, 'order' | 'limit' | 'offset'> {
  /** The text of a query; undefined if whole records are listed. */
  readonly query: string | undefined
  /** The text of `order_by`. */
  readonly order: string | undefined
  readonly limit: number | undefined
  readonly offset: number | undefined
  readonly pretty: boolean
  readonly explain: 'plan' | 'analyze' | undefined
  /** Time limit in ms; undefined for that of the service. */
  readonly timeout: number | undefined
}

export type Sortable = Pick<Entity, 'name' | 'fields'>

/** @param more parameters of this address alone */
export function parseAsked(query: Query, more: readonly string[] = []): Asked {
  const given: Partial<Record<string, string>> = singleParameters(query, [...parameters, ...more])
  return {
    // An empty text and null are how clients say that there is none.
    query: given.query === undefined || /^\s*(null\s*)?$/.test(given.query) ? undefined : given.query,
    order: given.order_by,
    limit: given.limit === undefined ? undefined : wholeNumber('limit', given.limit, 1),
    offset: given.offset === undefined ? undefined : wholeNumber('offset', given.offset, 0),
    total: given.include_total !== undefined && parseBoolean('include_total', given.include_total),
    pretty: given.pretty !== undefined && parseBoolean('pretty', given.pretty),
    explain: given.explain === undefined ? undefined : parseExplain(given.explain),
    timeout: given.timeout === undefined ? undefined : parseTimeout(given.timeout),
  }
}

/** @throws Problem 400 for an order that isn't one of the entity's fields */
export const pageOf = ({ order, limit, offset, total }: Asked, entity: Sortable): Page => ({
  order: orderOf(order, entity),
  limit: limit ?? null,
  offset: offset ?? 0,
  total,
})

/** Orders that were parsed before: clients repeat a few. An entity is the same object until it changes. */
const known = new WeakMap<Sortable, RecentlyUsed<string, readonly Order[]>>()
const maxCachedOrders = 100
const maxCachedLength = 1_000
const noOrder: readonly Order[] = []

/** @returns the same object for the same text and entity, unless the text is long */
export function orderOf(text: string | undefined, entity: Sortable): readonly Order[] {
  if (text === undefined) return noOrder
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

function parseExplain(text: string): Asked['explain'] {
  // Without a value, the parameter is an empty text.
  if (text === '' || text === 'true' || text === 'plan') return 'plan'
  if (text === 'false') return undefined
  if (text === 'analyze') return 'analyze'
  throw badParameter('explain', text, `The parameter explain must be plan or analyze, not ${quote(text)}.`, {
    legal: ['plan', 'analyze'],
  })
}

/** Maximum in seconds; timers can't wait longer. */
const maxTimeout = 2_000_000

function parseTimeout(text: string): number | undefined {
  const seconds = /^\d{1,10}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (seconds <= maxTimeout) return seconds === 0 ? undefined : Math.max(1, Math.round(seconds * 1000))
  throw badParameter(
    'timeout',
    text,
    `The parameter timeout must be a number of seconds from 0 (no limit) to ${maxTimeout}, not ${quote(text)}.`,
    { legal: { least: 0, most: maxTimeout } },
  )
}
