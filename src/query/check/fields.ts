import { commaList, listed, quote, suggestion } from '../../http/parameters.ts'
import { memo } from '../../lib/memo.ts'
import type { Field } from '../../model/entities.ts'
import { functions } from '../../model/functions/functions.ts'
import { eachElement, type FieldRef, isWholeField } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import type { Scope } from './scope.ts'
import { argumentsOf, described, operatorOf, wrong } from './wrong.ts'

/** The field that a condition is about. `lower`: constants are put in lower case first. */
export type Subject = Found & { readonly lower?: true }

/**
 * Reads the first argument of a condition: a field, or PuppetDB's shorthand for one. A field with the name of
 * a shorthand comes first.
 * @throws QueryError for anything else
 */
export function subjectOf(node: Node, scope: Scope): Subject {
  const subject = shorthand(node, scope) ?? scope.shared.computed(node, scope) ?? findField(node, scope)
  scope.mentioned.add(subject.field.name)
  return subject
}

function shorthand(node: Node, scope: Scope): Subject | undefined {
  if (node.kind === 'text' && node.text === 'tag' && !fieldNamed('tag', scope)) {
    const tags = fieldNamed('tags', scope)
    return tags?.type === 'json' ? { ...whole(tags), lower: true } : undefined
  }
  if (node.kind !== 'array') return undefined
  const operator = operatorOf(node)
  if (operator === 'parameter') return parameterOf(node, scope)
  if (operator === 'field') return namedField(node, scope)
  if (operator === 'node')
    throw wrong(
      node,
      `There is no ["node", "active"] here, because nodes have no state of their own. ${fieldsOf(scope)}`,
    )
  if (operator === 'function') return undefined
  throw wrong(node, `This condition takes one field. ${fieldsOf(scope)}`, {
    legal: listed(scope.fields.map(({ name }) => name)),
  })
}

/** `["field", name]` is the field, where two fields are compared. */
function namedField(node: Extract<Node, { kind: 'array' }>, scope: Scope): Found {
  const [name, more] = argumentsOf(node)
  if (name && !more) return findField(name, scope)
  throw wrong(more ?? node, 'field takes the name of a field: ["field", "width"].')
}

/** `["parameter", "ensure"]` is `parameters.ensure`. */
function parameterOf(node: Extract<Node, { kind: 'array' }>, scope: Scope): Subject {
  const parameters = fieldNamed('parameters', scope)
  if (parameters?.type !== 'json')
    throw wrong(node, `["parameter", …] needs a field "parameters" of JSON, and ${scope.name} has none.`)
  return member(parameters, [nameIn(node)])
}

/** Returns the name in `["parameter", name]` or `["fact", name]`. */
export function nameIn(node: Extract<Node, { kind: 'array' }>): string {
  const [name, more] = argumentsOf(node)
  if (name?.kind === 'text' && !more) return name.text
  const what = operatorOf(node)
  throw wrong(
    more ?? name ?? node,
    `A ${what} is named by one text, such as ["${what}", "name"]${name && !more ? `, not by ${described(name)}` : ''}.`,
  )
}

/** Puts a constant for PuppetDB's tags in lower case, because tags are stored so. */
export const lowered = (node: Node, { lower }: Subject): Node =>
  lower && node.kind === 'text' ? { ...node, text: node.text.toLowerCase() } : node

/** A field that a query names, or a member inside of it. */
export interface Found {
  readonly ref: FieldRef
  readonly field: Field
}

interface Names {
  readonly all: readonly string[]
  readonly byName: ReadonlyMap<string, Field>
  /** Length of the longest name of a JSON field. Only these have members, so longer prefixes needn't be looked up. */
  readonly longestJson: number
}

/** Names are kept by the list of fields, which stays the same object until its entity changes. */
const namesIn = memo((fields: readonly Field[]): Names => {
  const json = fields.filter(({ type }) => type === 'json')
  return {
    all: fields.map(({ name }) => name),
    byName: new Map(fields.map(field => [field.name, field])),
    longestJson: json.reduce((longest, { name }) => Math.max(longest, name.length), 0),
  }
})

export const fieldNamed = (name: string, scope: Pick<Scope, 'fields'>): Field | undefined =>
  namesIn(scope.fields).byName.get(name)

/** Maximum length in characters of a path with members. A longer name can only be that of a field. */
const maxPathLength = 1_000

/**
 * Finds the field that a query names: by its name, by a path to a member of it (`facts.os.family`), or by the name
 * of a related entity and of a field there (`artists.name`). Own fields come first.
 * @throws QueryError for anything else, with the names of the fields
 */
export function findField(node: Node, scope: Scope): Found {
  if (node.kind !== 'text')
    throw wrong(node, `The name of a field is text, not ${described(node)}. ${fieldsOf(scope)}`, {
      legal: listed(namesIn(scope.fields).all),
    })
  const field = fieldNamed(node.text, scope)
  if (field) return whole(field)
  const parent = parentOf(node.text, scope)
  if (parent?.type === 'json') return memberOf(parent, node.text, node)
  const related = scope.entity && scope.shared.related(node, scope)
  if (related) return related
  if (parent) return memberOf(parent, node.text, node)
  const { hint, members } = suggestion(node.text, namesIn(scope.fields).all)
  const isFunction = functions.get(node.text)?.kind === 'aggregate'
  const meant = isFunction
    ? ` A function is written ["function", "${node.text}"], and ${node.text}() in PQL.`
    : hint
  throw wrong(node, `${scope.name} has no field ${quote(node.text)}.${meant} ${fieldsOf(scope)}`, members)
}

export const whole = (field: Field): Found => ({
  ref: { name: field.name, path: [], type: field.type, ...(field.list && { list: true }) },
  field,
})

/**
 * Finds the field or the path that a side of a relation names.
 * @returns undefined if there is no such field
 * @throws QueryError for a path that can't be read, or into a field that isn't JSON
 */
export function relationSide(text: string, scope: Pick<Scope, 'fields'>): Found | undefined {
  const field = fieldNamed(text, scope)
  if (field) return whole(field)
  const parent = parentOf(text, scope)
  return parent && memberOf(parent, text, { kind: 'text', text, at: { pointer: '' } })
}

/** Returns a side of a relation as a subquery lists it: for a list, its elements. */
export const elementsOf = (found: Found): Found =>
  found.field.list && isWholeField(found.ref) ? member(found.field, [eachElement]) : found

/** Lists the fields in a sentence. */
const fieldsOf = (scope: Scope): string => `Its fields are ${commaList(namesIn(scope.fields).all) || 'none'}.`

/**
 * Finds the field with the longest name that a path begins with. A field without members is still useful for
 * the error.
 */
function parentOf(text: string, scope: Pick<Scope, 'fields'>): Field | undefined {
  if (text.length > maxPathLength) return undefined
  const { byName, longestJson } = namesIn(scope.fields)
  let other: Field | undefined
  for (let end = Math.min(text.length - 1, longestJson); end > 0; end--) {
    if (text[end] !== '.' && text[end] !== '[') continue
    const field = byName.get(text.slice(0, end))
    if (field?.type === 'json') return field
    other ??= field
  }
  return other ?? byName.get(/^[^.[]*/.exec(text)?.[0] ?? '')
}

function memberOf(field: Field, text: string, node: Node): Found {
  if (field.type !== 'json')
    throw wrong(
      node,
      `${quote(field.name)} has no members, because it is ${typeNames[field.type]}: ${quote(text)} is no field.`,
    )
  const path = readPath(text.slice(field.name.length))
  if (typeof path === 'string') throw wrong(node, `The path ${quote(text)} can't be read: ${path}.`)
  const rest = text.slice(field.name.length)
  if (field.list && typeof path[0] === 'string')
    throw wrong(
      node,
      `${quote(field.name)} is a list, which has no members: write ${field.name}[*]${rest} for any of its elements, or ${field.name}[0]${rest} for the first.`,
      { mistake: 'list', found: field.name, nearest: `${field.name}[*]${rest}` },
    )
  return member(field, path)
}

/** Refers to a member of a JSON field. */
const member = (field: Field, path: FieldRef['path']): Found => ({
  ref: { name: field.name, path, type: 'json', ...(path.includes(eachElement) && { list: true }) },
  field,
})

/** Types as messages name them. */
export const typeNames = {
  text: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  'date-time': 'a date-time',
  json: 'JSON',
} as const

/** Maximum number of parts in a path; JSON isn't nested deeper in practice. */
const maxParts = 100
/** Maximum number of arrays in each other of which a path takes all elements. */
const maxEach = 5

type Path = readonly (string | number)[]

/**
 * Reads the path to a member of a JSON value, after the name of its field: `.os.family`, `[0].name`,
 * `."a.b".c`. A quoted part ends at a quote that is followed by a point, an index or the end.
 * @returns the path; a text that says what is wrong
 */
function readPath(text: string): Path | string {
  const path: (string | number)[] = []
  let at = 0
  while (at < text.length) {
    const part = text[at] === '[' ? indexAt(text, at) : keyAt(text, at)
    if (typeof part === 'string') return part
    path.push(part.value)
    at = part.end
    if (path.length > maxParts) return `a path has at most ${maxParts} parts`
    if (part.value === eachElement && path.filter(one => one === eachElement).length > maxEach)
      return `a path has at most ${maxEach} times [*]`
  }
  return path
}

interface Part {
  readonly value: string | number
  readonly end: number
}

const index = /\[(\d{1,9}|\*)\](?=[.[]|$)/y

function indexAt(text: string, at: number): Part | string {
  index.lastIndex = at
  const [all = '', digits] = index.exec(text) ?? []
  return digits === undefined
    ? 'the index of an element is a whole number in brackets, such as list[0], or [*] for all'
    : { value: digits === '*' ? eachElement : Number(digits), end: at + all.length }
}

function keyAt(text: string, at: number): Part | string {
  const start = at + 1
  if (text[start] === '"') return quotedAt(text, start)
  const end = keyEnd(text, start)
  const value = text.slice(start, end)
  if (value === '') return 'a part of the path is empty'
  if (value.startsWith('match(')) return 'match(…) is no part of a path here; compare members with ~'
  return { value, end }
}

/** Finds the end of a key: the next point, or the first of the indexes directly before that point. */
function keyEnd(text: string, start: number): number {
  const point = text.indexOf('.', start)
  let end = point < 0 ? text.length : point
  while (text[end - 1] === ']') {
    const open = text.lastIndexOf('[', end - 1)
    if (open <= start || !/^(\d{1,9}|\*)$/.test(text.slice(open + 1, end - 1))) break
    end = open
  }
  return end
}

function quotedAt(text: string, quote: number): Part | string {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    const next = text[end + 1]
    if (next === undefined || next === '.' || next === '[')
      return { value: text.slice(quote + 1, end), end: end + 1 }
  }
  return 'a part in quotes has no end'
}
