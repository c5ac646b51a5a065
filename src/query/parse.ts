import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import {
  badParameter,
  nearest,
  nearestMember,
  type Query,
  quote,
  singleParameters,
} from '../http/parameters.ts'
import type { Problem } from '../http/problems.ts'
import type { Entity, Order, Page } from '../model/entities.ts'

/**
 * Parsing is validation: what comes out is a page that can be run, and everything else is a problem that says which
 * parameter, where in it, and what would be right (Q2–Q5, Q7).
 */
const parameters = ['order_by', 'limit', 'offset', 'include_total'] as const

export function parsePage(query: Query, entity: Pick<Entity, 'name' | 'fields'>): Page {
  const given = singleParameters(query, parameters)
  return {
    order: given.order_by === undefined ? [] : knownOrder(given.order_by, entity),
    limit: given.limit === undefined ? null : wholeNumber('limit', given.limit, 1),
    offset: given.offset === undefined ? 0 : wholeNumber('offset', given.offset, 0),
    total: given.include_total !== undefined && parseBoolean('include_total', given.include_total),
  }
}

/** The same orders are asked for again and again; entities are the same object until they change. */
const known = new WeakMap<Pick<Entity, 'name' | 'fields'>, Map<string, readonly Order[]>>()
const maxCachedOrders = 1_000
const maxCachedLength = 1_000

function knownOrder(text: string, entity: Pick<Entity, 'name' | 'fields'>): readonly Order[] {
  const orders = known.get(entity) ?? new Map<string, readonly Order[]>()
  known.set(entity, orders)
  const order = orders.get(text) ?? parseOrder(text, entity)
  if (orders.size < maxCachedOrders && text.length <= maxCachedLength) orders.set(text, order)
  return order
}

function wholeNumber(parameter: string, text: string, least: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= Number.MAX_SAFE_INTEGER) return value
  throw badParameter(
    parameter,
    text,
    `The parameter ${parameter} must be a whole number from ${least} to ${Number.MAX_SAFE_INTEGER}, not ${quote(text)}.`,
    { legal: { least, most: Number.MAX_SAFE_INTEGER } },
  )
}

function parseBoolean(parameter: string, text: string): boolean {
  if (/^true$/i.test(text)) return true
  if (/^false$/i.test(text)) return false
  throw badParameter(
    parameter,
    text,
    `The parameter ${parameter} must be true or false, not ${quote(text)}.`,
    {
      legal: ['true', 'false'],
    },
  )
}

/** More entries than that no one needs; fewer than would be work to refuse. */
const maxEntries = 100

/** An order has a bracket for each entry and one more; the parser would not survive thousands, one in another. */
const maxBrackets = 2 * maxEntries

function parseOrder(text: string, entity: Pick<Entity, 'name' | 'fields'>): readonly Order[] {
  if (text === '') return []
  const form = 'It must be a JSON array of objects such as [{"field": "title", "order": "desc"}].'
  /** @param position counted in characters from 0 */
  const wrong = (what: string, position: number, members: Readonly<Record<string, unknown>> = {}): Problem =>
    badParameter('order_by', text, `The parameter order_by is wrong at character ${position}: ${what}`, {
      position,
      ...members,
    })

  const errors: ParseError[] = []
  // Brackets in texts are counted as well: nobody's field is called by a hundred of them.
  if ((text.match(/[[{]/g)?.length ?? 0) > maxBrackets)
    throw wrong(`nested too deep, or more than ${maxEntries} entries. ${form}`, 0)
  const tree = parseTree(text, errors, { disallowComments: true, allowEmptyContent: false })
  const [error] = errors
  if (error) throw wrong(`malformed JSON (${printParseErrorCode(error.error)}). ${form}`, error.offset)
  if (tree?.type !== 'array') throw wrong(`not an array. ${form}`, tree?.offset ?? 0)
  const entries = tree.children ?? []
  if (entries.length > maxEntries)
    throw wrong(`more than ${maxEntries} entries.`, entries[maxEntries]?.offset ?? 0)

  const fields = entity.fields.map(field => field.name)
  const legalFields = `Fields of ${entity.name}: ${fields.join(', ')}.`

  const parseEntry = (entry: Node, at: number): Order => {
    if (entry.type !== 'object') throw wrong(`entry ${at + 1} is not an object. ${form}`, entry.offset)
    const members = new Map<string, Node>()
    for (const property of entry.children ?? []) {
      const [key, value] = property.children ?? []
      const name = String(key?.value)
      if (name !== 'field' && name !== 'order')
        throw wrong(
          `entry ${at + 1} has the unknown key ${quote(name)}; the keys are field and order.`,
          property.offset,
          {
            legal: ['field', 'order'],
            ...nearestMember(name, ['field', 'order']),
          },
        )
      if (members.has(name)) throw wrong(`entry ${at + 1} has the key ${name} twice.`, property.offset)
      if (value) members.set(name, value)
    }
    const field = members.get('field')
    if (!field) throw wrong(`entry ${at + 1} has no field. ${legalFields}`, entry.offset, { legal: fields })
    if (field.type !== 'string')
      throw wrong(`the field of entry ${at + 1} is not a text. ${legalFields}`, field.offset, {
        legal: fields,
      })
    const name = String(field.value)
    if (!fields.includes(name)) {
      const near = nearest(name, fields)
      const hint = near === undefined ? '' : ` Did you mean ${quote(near)}?`
      throw wrong(`${entity.name} has no field ${quote(name)}.${hint} ${legalFields}`, field.offset, {
        legal: fields,
        ...nearestMember(name, fields),
      })
    }
    if (entity.fields.some(one => one.name === name && one.sortable === false)) {
      const legal = entity.fields.filter(one => one.sortable !== false).map(one => one.name)
      throw wrong(
        `the values of ${quote(name)} have no order. Fields to sort by: ${legal.join(', ')}.`,
        field.offset,
        { legal },
      )
    }
    return { field: name, descending: parseDirection(members.get('order'), at) }
  }

  const parseDirection = (direction: Node | undefined, at: number): boolean => {
    if (!direction) return false
    const value = typeof direction.value === 'string' ? direction.value.toLowerCase() : undefined
    if (direction.type === 'string' && (value === 'asc' || value === 'desc')) return value === 'desc'
    throw wrong(`the order of entry ${at + 1} must be "asc" or "desc".`, direction.offset, {
      legal: ['asc', 'desc'],
    })
  }
  return entries.map(parseEntry)
}
