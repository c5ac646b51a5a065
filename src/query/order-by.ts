import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { badParameter, commaList, listed, quote, suggestion } from '../http/parameters.ts'
import type { Problem } from '../http/problems.ts'
import type { Entity, Order } from '../model/entities.ts'
import { jsonErrors } from './language/json-errors.ts'

/**
 * Maximum number of entries, which bounds what one address makes the store do. A person sorts by far fewer.
 */
const maxEntries = 100

/**
 * Maximum number of brackets: one for each entry, and one more. Thousands of nested ones would overflow the
 * parser's stack.
 */
const maxBrackets = 2 * maxEntries

const form = 'It must be a JSON array of objects such as [{"field": "title", "order": "desc"}].'

/** @throws Problem 400 that says at which character the text is wrong, and what would be right */
export function parseOrder(text: string, entity: Pick<Entity, 'name' | 'fields'>): readonly Order[] {
  if (text === '') return []
  /** @param position in characters, from 0 */
  const wrong = (what: string, position: number, members: Readonly<Record<string, unknown>> = {}): Problem =>
    badParameter('order_by', text, `The parameter order_by is wrong at character ${position}: ${what}`, {
      position,
      ...members,
    })

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

  const fields = entity.fields.map(field => field.name)
  const legalFields = () => `The fields of ${entity.name} are ${commaList(fields)}.`

  const parseEntry = (entry: Node, at: number): Order => {
    if (entry.type !== 'object') throw wrong(`entry ${at + 1} is not an object. ${form}`, entry.offset)
    const { field, order } = membersOf(entry, at)
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
    return { field: name, descending: isDescending(order, at) }
  }

  const keys = ['field', 'order'] as const
  const membersOf = (entry: Node, at: number): Partial<Record<(typeof keys)[number], Node>> => {
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

  const isDescending = (order: Node | undefined, at: number): boolean => {
    // `null` is how many clients say that a member is not set (Q17).
    if (!order || order.type === 'null') return false
    const value = typeof order.value === 'string' ? order.value.toLowerCase() : undefined
    if (value === 'asc' || value === 'desc') return value === 'desc'
    throw wrong(
      `the order of entry ${at + 1} must be "asc" or "desc", in upper or lower case.`,
      order.offset,
      { legal: ['asc', 'desc'] },
    )
  }

  // A field that is named again can't break a tie: the records are equal in it (Q17).
  const order = new Map<string, Order>()
  for (const one of entries.map(parseEntry)) if (!order.has(one.field)) order.set(one.field, one)
  return [...order.values()]
}
