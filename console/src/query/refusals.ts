import { nearest } from '../../../src/lib/nearest.ts'
import { type Mistake, type Node, QueryError } from '../../../src/query/language/node.ts'
import { readAst } from '../../../src/query/language/read-ast.ts'
import { readPql } from '../../../src/query/language/read-pql.ts'
import type { CarrelProblem } from '../api.ts'
import { type Entity, type EntityField, entities as known } from '../entities.ts'
import { comparing, joining, lenient, puppets } from './operators.ts'
import { entityIn, fieldOf, isAst, literalOf, openIn, partsOf, read, subjectOf, textOf } from './pql.ts'

/** A fault of a condition, and its place in the text. */
export interface Refusal {
  /** A sentence in English. */
  readonly message: string
  /** Line and column, counted from 1; columns are code points. */
  readonly line?: number
  readonly column?: number
  readonly mistake?: Mistake | 'field' | 'entity' | 'type' | undefined
  readonly found?: string | undefined
  readonly expected?: readonly string[] | undefined
  readonly legal?: readonly string[] | undefined
  readonly nearest?: string | undefined
  /** The type of the field that the condition is about, if that was read. */
  readonly type?: EntityField['type'] | undefined
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
const texts = (value: unknown) =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : undefined

const detailsOf = (members: Readonly<Record<string, unknown>>) => ({
  mistake: text(members.mistake) as Mistake | undefined,
  found: text(members.found),
  expected: texts(members.expected),
  legal: texts(members.legal),
  nearest: text(members.nearest),
})

/**
 * Looks for what is wrong in a condition, without a request, whose refusal browsers would log. The service checks the rest.
 *
 * @returns undefined if nothing wrong was found
 */
export function misread({ fields }: Entity, condition: string): Refusal | undefined {
  const { node, mistake, parts } = read(condition, 'condition')
  if (mistake) return refusedBy(mistake, condition, subjectOf(openIn(parts), fields)?.type)
  return wrongIn(node, fields, known.peek() ?? [])
}

/**
 * Reads a whole query, as PQL or as an AST in JSON, and looks for its entities and fields.
 *
 * @returns the query, or the first fault that needs no request to be found
 */
export function readQuery(text: string, entities: readonly Entity[]): { readonly node: Node } | Refusal {
  try {
    const node = isAst(text) ? readAst(text) : readPql(text)
    return (partsOf(node, 'from') && wrongIn(node, [], entities)) ?? { node }
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    return refusedBy(error, text)
  }
}

function refusedBy({ message, at, members }: QueryError, text: string, type?: EntityField['type']): Refusal {
  const said = { message: withoutPlace(message), ...detailsOf(members), type }
  if ('line' in at) return { ...said, ...at }
  if (typeof members.position !== 'number') return said
  const lines = text.slice(0, members.position).split('\n')
  return { ...said, line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 }
}

const firstOf = <One>(list: readonly One[], find: (one: One) => Refusal | undefined): Refusal | undefined => {
  for (const one of list) {
    const found = find(one)
    if (found) return found
  }
  return undefined
}

type Fields = readonly EntityField[]

const lineOf = ({ at }: Node) => ('line' in at ? at : {})
const itemsOf = (node: Node | undefined): readonly (Node | undefined)[] =>
  node?.kind === 'array' ? node.items : [node]

/** Finds an entity and a field that there isn't, and a value of another type. The service looks for the rest. */
function wrongIn(node: Node | undefined, fields: Fields, entities: readonly Entity[]): Refusal | undefined {
  const [first, named, value, ...rest] = itemsOf(node)
  const operator = node?.kind === 'array' ? textOf(first) : undefined
  if (operator === undefined) return undefined
  if (operator === 'from') {
    const name = textOf(named)
    if (named === undefined || name === undefined || entities.length === 0) return undefined
    const entity = entityIn(entities, name)
    return entity
      ? firstOf([value, ...rest], one => wrongIn(one, entity.fields, entities))
      : { ...unknown(named, name, entities), mistake: 'entity' }
  }
  if (joining.has(operator)) return firstOf([named, value, ...rest], one => wrongIn(one, fields, entities))
  // The names of columns are fields of the rows that are grouped.
  if (operator === 'extract')
    return (
      wrongColumn(itemsOf(named), fields) ?? firstOf([value, ...rest], one => wrongIn(one, fields, entities))
    )
  if (operator === 'group_by') return wrongColumn([named, value, ...rest], fields)
  if (!comparing.has(operator)) return undefined

  const [own] = partsOf(named, 'field') ?? []
  if (own) {
    // A text without quotes reads like a field.
    const other = unknownField(partsOf(value, 'field')?.[0], fields)
    const type = fieldOf(own, fields)?.type
    return unknownField(own, fields) ?? (other && { ...other, mistake: 'quotes', nearest: undefined, type })
  }
  // Forms of PuppetDB, such as ["fact", "kernel"], name no field of the entity.
  const isForm = named?.kind === 'array' && puppets.has(textOf(named.items[0]) ?? '')
  const wrong = isForm ? undefined : firstOf(itemsOf(named), one => unknownField(one, fields))
  if (wrong || partsOf(value, 'from')) return wrong ?? wrongIn(value, fields, entities)
  const type = fields.find(({ name }) => name === textOf(named))?.type
  if (lenient.has(operator) || !type) return undefined
  const [list] = partsOf(value, 'array') ?? []
  return firstOf(list ? itemsOf(list) : [value], one => one && wrongValue(one, type))
}

/** Looks for fields among columns and groups, also where they are given to a function. */
const wrongColumn = (items: readonly (Node | undefined)[], fields: Fields): Refusal | undefined =>
  firstOf(items, one => unknownField(partsOf(one, 'function')?.[1] ?? one, fields))

const unknown = (node: Node, name: string, all: readonly { readonly name: string }[]): Refusal => ({
  message: '',
  ...lineOf(node),
  mistake: 'field',
  found: name,
  nearest: nearest(name, new Set(all.map(one => one.name))),
})

function unknownField(node: Node | undefined, fields: Fields): Refusal | undefined {
  const name = textOf(node)
  const isPlain = name !== undefined && /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name)
  return node && isPlain && !fields.some(one => one.name === name) ? unknown(node, name, fields) : undefined
}

/** Finds a value that is plainly of another type than the field. */
function wrongValue(value: Node, type: EntityField['type']): Refusal | undefined {
  const { kind } = value
  const found = literalOf(value)
  if (found === undefined || type === 'json') return undefined
  const isRight =
    type === 'integer' || type === 'number'
      ? kind === 'number'
      : type === 'date-time'
        ? kind === 'number' || (kind === 'text' && /^[+-]?\d{4}/.test(value.text))
        : kind === type
  return isRight ? undefined : { message: '', ...lineOf(value), mistake: 'type', found, legal: [type] }
}

/** @param prefix the part of the query before the condition */
export function refusalOf({ detail, members }: CarrelProblem, prefix: string): Refusal {
  const { line, column } = members
  const message = withoutPlace(detail ?? '')
  const said = { message, ...detailsOf(members) }
  if (typeof line !== 'number' || typeof column !== 'number') return said
  return { ...said, line, column: Math.max(1, column - (line === 1 ? [...prefix].length : 0)) }
}

const withoutPlace = (message: string) =>
  message.replace(/^(The query is wrong( at line \d+, column \d+:|\.)\s*)?(Line \d+, column \d+:)?\s*/, '')
