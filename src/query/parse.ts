import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import {
  badParameter,
  commaList,
  listed,
  parseBoolean,
  type Query,
  quote,
  singleParameters,
  suggestion,
  wholeNumber,
} from '../http/parameters.ts'
import type { Problem } from '../http/problems.ts'
import { memo, RecentlyUsed } from '../lib/memo.ts'
import type { Entity, Order, Page } from '../model/entities.ts'
import { jsonErrors } from './language/read-ast.ts'

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
  'snapshot',
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
  /** The states to be shown; undefined: those of now. */
  readonly snapshot: string | undefined
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
    snapshot: given.snapshot,
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
const ordersOf = memo((_: Sortable) => new RecentlyUsed<string, readonly Order[]>(100))
const maxCachedLength = 1_000
const noOrder: readonly Order[] = []

/** @returns the same object for the same text and entity, unless the text is long */
export function orderOf(text: string | undefined, entity: Sortable): readonly Order[] {
  if (text === undefined) return noOrder
  if (text.length > maxCachedLength) return parseOrder(text, entity)
  return ordersOf(entity).use(text, () => parseOrder(text, entity))
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

/** Maximum number of entries, which bounds what one address makes the store do. A person sorts by far fewer. */
const maxEntries = 100

/**
 * Maximum number of brackets: one for each entry, and one more. Thousands of nested ones would overflow the
 * parser's stack.
 */
const maxBrackets = 2 * maxEntries

const form = 'It must be a JSON array of objects such as [{"field": "title", "order": "desc"}].'

/** Makes a problem of what is wrong. @param position in characters, from 0 */
type Wrong = (what: string, position: number, members?: Readonly<Record<string, unknown>>) => Problem

function entriesIn(text: string, wrong: Wrong): readonly Node[] {
  // Brackets inside strings count, too; names of fields don't have a hundred of them.
  if ((text.match(/[[{]/g)?.length ?? 0) > maxBrackets)
    throw wrong(`it has more than ${maxEntries} entries, or too many brackets. ${form}`, 0)
  const errors: ParseError[] = []
  const tree = parseTree(text, errors, { disallowComments: true, allowEmptyContent: false })
  const [error] = errors
  if (error) throw wrong(`${jsonErrors[printParseErrorCode(error.error)]}. ${form}`, error.offset)
  if (tree?.type !== 'array') throw wrong(`it is not an array. ${form}`, tree?.offset ?? 0)
  const entries = tree.children ?? []
  if (entries.length > maxEntries)
    throw wrong(
      `it has ${entries.length} entries; the maximum is ${maxEntries}.`,
      entries[maxEntries]?.offset ?? 0,
    )
  return entries
}

/** @throws Problem 400 that says at which character the text is wrong, and what would be right */
function parseOrder(text: string, entity: Pick<Entity, 'name' | 'fields'>): readonly Order[] {
  if (text === '') return []
  const wrong: Wrong = (what, position, members = {}) =>
    badParameter('order_by', text, `The parameter order_by is wrong at character ${position}: ${what}`, {
      position,
      ...members,
    })
  const entries = entriesIn(text, wrong)
  const fields = entity.fields.map(field => field.name)
  const legalFields = () => `The fields of ${entity.name} are ${commaList(fields)}.`

  const parseEntry = (entry: Node, at: number): Order => {
    if (entry.type !== 'object') throw wrong(`entry ${at + 1} is not an object. ${form}`, entry.offset)
    const { field, order } = membersOf(entry, at, wrong)
    if (!field)
      throw wrong(`entry ${at + 1} has no field. ${legalFields()}`, entry.offset, { legal: listed(fields) })
    if (field.type !== 'string')
      throw wrong(`the field of entry ${at + 1} is not a string. ${legalFields()}`, field.offset, {
        legal: listed(fields),
      })
    const name = String(field.value)
    if (!fields.includes(name)) {
      const { hint, members } = suggestion(name, fields)
      throw wrong(
        `${entity.name} has no field ${quote(name)}.${hint} ${legalFields()}`,
        field.offset,
        members,
      )
    }
    if (entity.fields.some(one => one.name === name && one.sortable === false)) {
      const legal = entity.fields.filter(one => one.sortable !== false).map(one => one.name)
      throw wrong(
        `the values of ${quote(name)} have no order. Fields to sort by: ${commaList(legal) || 'none'}.`,
        field.offset,
        { legal: listed(legal) },
      )
    }
    return { field: name, descending: isDescending(order, at, wrong) }
  }

  // A field that is named again can't break a tie: the records are equal in it (Q17).
  const order = new Map<string, Order>()
  for (const one of entries.map(parseEntry)) if (!order.has(one.field)) order.set(one.field, one)
  return [...order.values()]
}

const keys = ['field', 'order'] as const

function membersOf(entry: Node, at: number, wrong: Wrong): Partial<Record<(typeof keys)[number], Node>> {
  const members: Partial<Record<(typeof keys)[number], Node>> = {}
  for (const property of entry.children ?? []) {
    const [key, value] = property.children ?? []
    const name = keys.find(one => one === key?.value)
    if (name === undefined) {
      const given = String(key?.value)
      const { hint, members: more } = suggestion(given, keys)
      throw wrong(
        `entry ${at + 1} has the unknown key ${quote(given)}.${hint} The keys are field and order.`,
        property.offset,
        more,
      )
    }
    if (members[name]) throw wrong(`entry ${at + 1} has the key ${name} twice.`, property.offset)
    if (value) members[name] = value
  }
  return members
}

function isDescending(order: Node | undefined, at: number, wrong: Wrong): boolean {
  // `null` is how many clients say that a member is not set (Q17).
  if (!order || order.type === 'null') return false
  const value = typeof order.value === 'string' ? order.value.toLowerCase() : undefined
  if (value === 'asc' || value === 'desc') return value === 'desc'
  throw wrong(`the order of entry ${at + 1} must be "asc" or "desc", in upper or lower case.`, order.offset, {
    legal: ['asc', 'desc'],
  })
}
