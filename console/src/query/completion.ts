import { PqlScanner } from '../../../src/query/language/pql-scanner.ts'
import { type Entity, type EntityField, withRelated } from '../entities.ts'
import { formatNumber } from '../i18n/i18n.ts'
import { frequentValues } from './frequent-values.ts'
import { clauses, grouping, operatorsOf, suggested, units } from './operators.ts'
import { entityIn, fieldOf, openIn, type Part, read, subjectOf, written } from './pql.ts'

export interface Suggestion {
  /** The text that is inserted. */
  readonly text: string
  /** A note on the suggestion, such as a type or a count. */
  readonly about?: string
}

/** The suggestions at a place. */
export interface Suggested {
  /** The offset of the text that a suggestion replaces. */
  readonly start: number
  /** Those that need no request. */
  readonly list: readonly Suggestion[]
  /** Asks the service for values, which take their place. */
  readonly more?: () => Promise<readonly Suggestion[]>
}

const masks = Object.values(units).flatMap(mask => (mask === null ? [] : [{ text: `"${mask}"` }]))

/** No token of PQL, so that the reader stops there, and says what it would take instead. */
const nothing = '\0'

/**
 * Suggests what may stand at a place of a condition, or of a whole query.
 * @param own the entity of the condition; undefined for a query
 */
export function suggestAt(
  text: string,
  cursor: number,
  entities: readonly Entity[],
  own?: Entity,
): Suggested {
  const start = beginningOf(text.slice(0, cursor))
  const begun = text.slice(start, cursor)
  const before = `${text.slice(0, start)} ${nothing}`
  const { mistake, parts } = read(before, own ? 'condition' : 'query')
  const { found, expected } = mistake?.members ?? {}
  const next: readonly string[] = found === nothing && Array.isArray(expected) ? expected : []

  const open = openIn(parts)
  const at = open.findLastIndex(({ kind }) => kind === 'query' || kind === 'related')
  const [query, inside] = [open[at], open.slice(at + 1)]
  const name = query && /^[\p{L}\p{N}_-]+/u.exec(before.slice(query.start))?.[0]
  const entity = query ? entityIn(entities, name) : own
  const fields = entity ? withRelated(entity, entities).fields : []
  const named = fields.map(one => ({ text: written(one.name), about: one.type }))
  const called = inside.find(({ kind }) => kind === 'function')
  const isShown = !inside.some(({ kind }) => kind === 'condition' || kind === 'function')
  const isCondition = next.includes('<entity> {')
  const isEmpty = query?.kind === 'query' && isCondition && next.includes('}')
  const words = wordsIn(isEmpty ? [...clauses, '}'] : next, query, before, fields).map(word => ({
    text: word,
  }))
  const offer = (list: readonly Suggestion[]) => ({ start, list: fitting(list, begun) })

  if (next.includes('<entity>')) return offer([...entities.map(described), ...words])
  if (next.includes('{')) return offer(words.toReversed())
  if (called && next.includes('<text>'))
    return offer(before.startsWith('to_string', called.start) ? masks : [])
  const field = subjectOf(inside, fields)
  if (next.includes('<text>')) {
    if (entity && field?.type === 'text')
      return { start, list: [], more: () => valuesOf(entity, field, begun) }
    return offer(field?.type === 'boolean' ? [{ text: 'true' }, { text: 'false' }] : [])
  }
  if (isCondition) return offer(isEmpty ? [...named, ...words] : named)
  if (next.includes('<field>'))
    return offer([...named, ...(isShown ? [...suggested.map(text => ({ text })), ...words] : [])])
  return offer(next.includes('=') ? operatorsOf(field?.type).map(text => ({ text })) : words)
}

const described = ({ name, description }: Entity): Suggestion => ({
  text: name,
  ...(description ? { about: description.slice(0, 60) } : {}),
})

/** Returns the offset at which the word, number or text begins that the text ends in. */
function beginningOf(text: string): number {
  const scanner = new PqlScanner(text)
  let last = scanner.token
  while (scanner.token.kind !== 'end') last = scanner.next()
  const { kind, start, end } = last
  if (end < text.length || (kind === 'symbol' && !/^[.-]$/.test(last.text))) return text.length
  // The scanner takes a path into a value apart.
  return kind === 'text' || kind === 'broken' ? start : text.search(/[\p{L}\p{N}_.-]*$/u)
}

/** Returns the words and signs that may come next. */
function wordsIn(
  next: readonly string[],
  query: Part | undefined,
  before: string,
  fields: readonly EntityField[],
): readonly string[] {
  const all = query?.parts ?? []
  // Only columns can be grouped.
  const isGrouped = all.some(({ kind }) => kind === 'field' || kind === 'function')
  const said = all.flatMap(({ kind, start }) => (kind === 'clause' ? /^\w+/.exec(before.slice(start)) : []))
  const isClause = (word: string) => /^(}|sample)$/.test(word) || clauses.includes(word) || grouping.has(word)
  return next.flatMap(word => {
    if (word.startsWith('<')) return []
    if (isClause(word) && (!query || said.some(one => word.startsWith(`${one}`)))) return []
    if (grouping.has(word) && !isGrouped) return []
    if (word === 'by' && next.length > 1) return bucketsOf(lastField(all, fields)?.type)
    return [word]
  })
}

/** Returns the field that was read last. */
function lastField(parts: readonly Part[], fields: readonly EntityField[]): EntityField | undefined {
  const last = parts.at(-1)
  return last && (last.kind === 'field' ? fieldOf(last.node, fields) : lastField(last.parts, fields))
}

/** Buckets for numbers and times, such as `year by 10` and `changed by month`. */
const bucketsOf = (type: EntityField['type'] | undefined): readonly string[] =>
  type === 'date-time'
    ? Object.keys(units).flatMap(unit => (unit === 'weekday' ? [] : [`by ${unit}`]))
    : type === 'integer' || type === 'number' || type === 'json'
      ? ['by 10']
      : []

const valuesOf = async (entity: Entity, field: EntityField, begun: string) =>
  (await frequentValues(entity, field, begun.replaceAll('"', ''))).map(({ value, count }) => ({
    text: JSON.stringify(value),
    about: formatNumber(count),
  }))

/** Returns the suggestions that begin with what is written, and then those that contain it. */
function fitting(list: readonly Suggestion[], begun: string): readonly Suggestion[] {
  const start = begun.toLowerCase().replace(/^["']/, '')
  const plain = ({ text }: Suggestion) => text.toLowerCase().replace(/^["']/, '')
  const begins = list.filter(one => plain(one).startsWith(start) && plain(one) !== start)
  const inside = start.length < 2 ? [] : list.filter(one => plain(one).indexOf(start) > 0)
  return [...begins, ...inside]
}
