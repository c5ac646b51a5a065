import { nearest } from '../../../src/lib/nearest.ts'
import { type Mistake, type Node, QueryError } from '../../../src/query/language/node.ts'
import { readAst } from '../../../src/query/language/read-ast.ts'
import { readPql, readPqlCondition } from '../../../src/query/language/read-pql.ts'
import type { CarrelProblem } from '../api.ts'
import { type Entity, type EntityField, entities as known } from '../entities.ts'

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
 * Reads a condition with the reader of the service, and looks for its fields. What is found here needs no
 * request, whose refusal browsers would log. The service checks the rest.
 *
 * @returns undefined if nothing wrong was found
 */
export function misread(entity: Entity, condition: string): Refusal | undefined {
  try {
    const node = readPqlCondition(condition)
    return node && wrongIn(node, fieldsOf(entity), known.peek() ?? [])
  } catch (error) {
    if (!(error instanceof QueryError) || !('line' in error.at)) throw error
    const { message, at, members } = error
    return { message: withoutPlace(message), ...at, ...detailsOf(members) }
  }
}

/**
 * Reads a whole query, as PQL or as an AST in JSON, and looks for its entities and fields.
 *
 * @returns the query, or the first fault that needs no request to be found
 */
export function readQuery(text: string, entities: readonly Entity[]): { readonly node: Node } | Refusal {
  try {
    const node = isAst(text) ? readAst(text) : readPql(text)
    return wrongInQuery(node, entities) ?? { node }
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    const { message, at, members } = error
    const said = { message: withoutPlace(message), ...detailsOf(members) }
    if ('line' in at) return { ...said, ...at }
    return typeof members.position === 'number' ? { ...said, ...placeOf(text, members.position) } : said
  }
}

export const isAst = (text: string): boolean => /^\s*\[/.test(text)

/** Returns the line and the column of an offset, both counted from 1. */
function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const lines = text.slice(0, offset).split('\n')
  return { line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 }
}

/** Returns the parts of an array that begins with this operator. */
export const partsOf = (node: Node | undefined, operator: string): readonly Node[] | undefined => {
  const [first, ...rest] = node?.kind === 'array' ? node.items : []
  return first?.kind === 'text' && first.text === operator ? rest : undefined
}

export const textOf = (node: Node | undefined): string | undefined =>
  node?.kind === 'text' ? node.text : undefined

/** The name of an entity; `_` and `-` are alike in it. */
const alike = (name: string) => name.replaceAll('_', '-')
export const entityIn = (entities: readonly Entity[], name: string | undefined): Entity | undefined =>
  entities.find(one => name !== undefined && alike(one.name) === alike(name))

function wrongInQuery(node: Node, entities: readonly Entity[]): Refusal | undefined {
  const [named, ...clauses] = partsOf(node, 'from') ?? []
  const name = textOf(named)
  if (named === undefined || name === undefined || entities.length === 0) return undefined
  const entity = entityIn(entities, name)
  if (!entity) {
    const meant = nearest(name, new Set(entities.map(one => one.name)))
    return { message: '', ...lineOf(named), mistake: 'entity', found: name, nearest: meant }
  }
  const fields = fieldsOf(entity)
  for (const clause of clauses) {
    const extracted = partsOf(clause, 'extract')
    // The names of columns are fields of the rows that are grouped.
    const [columns, ...rest] = extracted ?? []
    const found = extracted
      ? (wrongColumns(columns, fields) ??
        firstOf(rest, one =>
          partsOf(one, 'group_by')
            ? wrongColumns(one, fields)
            : partsOf(one, 'having') || partsOf(one, 'distinct')
              ? undefined
              : wrongIn(one, fields, entities),
        ))
      : ['order_by', 'limit', 'offset'].some(one => partsOf(clause, one))
        ? undefined
        : wrongIn(clause, fields, entities)
    if (found) return found
  }
  return undefined
}

/** Looks for fields among columns and groups, also where they are given to a function. */
function wrongColumns(columns: Node | undefined, fields: Fields): Refusal | undefined {
  const items = partsOf(columns, 'group_by') ?? (columns?.kind === 'array' ? columns.items : [columns])
  return firstOf(items, one => unknownField(partsOf(one, 'function')?.[1] ?? one, fields))
}

const firstOf = <One>(list: readonly One[], find: (one: One) => Refusal | undefined): Refusal | undefined => {
  for (const one of list) {
    const found = find(one)
    if (found) return found
  }
  return undefined
}

type Fields = ReadonlyMap<string, EntityField>
const fieldsOf = ({ fields }: Entity): Fields => new Map(fields.map(one => [one.name, one]))

const lineOf = ({ at }: Node) => ('line' in at ? at : {})

const joining = new Set(['and', 'or', 'not'])
const puppets = new Set(['fact', 'parameter', 'node', 'function'])
const comparing = new Set(['=', '~', '~>', '<', '<=', '>', '>=', 'in', 'match', 'null?'])

/** Finds a field that the entity doesn't have, and a value of another type. The service looks for the rest. */
function wrongIn(node: Node, fields: Fields, entities: readonly Entity[]): Refusal | undefined {
  if (node.kind !== 'array') return undefined
  const [operator, ...rest] = node.items
  if (operator?.kind !== 'text') return undefined
  if (joining.has(operator.text)) return firstOf(rest, one => wrongIn(one, fields, entities))
  if (!comparing.has(operator.text)) return undefined
  const [named, value] = rest
  const [own] = partsOf(named, 'field') ?? []
  if (own) return unknownField(own, fields) ?? unquotedText(partsOf(value, 'field')?.[0], fields)
  // Forms of PuppetDB, such as ["fact", "kernel"], name no field of the entity.
  const isForm = puppets.has(textOf(named?.kind === 'array' ? named.items[0] : undefined) ?? '')
  const unknown = isForm
    ? undefined
    : firstOf(named?.kind === 'array' ? named.items : [named], one => unknownField(one, fields))
  if (unknown || !value) return unknown
  const subquery = partsOf(value, 'from') ? wrongInQuery(value, entities) : undefined
  if (subquery || ['~', '~>', 'match', 'null?'].includes(operator.text)) return subquery
  const type = fields.get(textOf(named) ?? '')?.type
  const [list] = partsOf(value, 'array') ?? []
  return type && firstOf(list?.kind === 'array' ? list.items : [value], one => wrongValue(one, type))
}

function unknownField(node: Node | undefined, fields: Fields): Refusal | undefined {
  const name = textOf(node)
  if (node === undefined || name === undefined || !isPlain(name) || fields.has(name)) return undefined
  return {
    message: '',
    ...lineOf(node),
    mistake: 'field',
    found: name,
    nearest: nearest(name, new Set(fields.keys())),
  }
}

/** Finds a text without quotes, which reads like a field. */
function unquotedText(node: Node | undefined, fields: Fields): Refusal | undefined {
  const unknown = unknownField(node, fields)
  return unknown && { ...unknown, mistake: 'quotes', nearest: undefined }
}

/** Finds a value that is plainly of another type than the field. */
function wrongValue(value: Node, type: EntityField['type']): Refusal | undefined {
  const { kind } = value
  if (kind === 'array' || kind === 'object' || kind === 'null') return undefined
  const isRight =
    type === 'json' ||
    (type === 'integer' || type === 'number'
      ? kind === 'number'
      : type === 'boolean'
        ? kind === 'boolean'
        : type === 'text'
          ? kind === 'text'
          : kind === 'number' || (kind === 'text' && /^[+-]?\d{4}/.test(value.text)))
  if (isRight) return undefined
  const found =
    kind === 'boolean' ? String(value.value) : kind === 'text' ? JSON.stringify(value.text) : value.text
  return { message: '', ...lineOf(value), mistake: 'type', found, legal: [type] }
}

const isPlain = (name: string) => /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name)

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
