import { commaList, listed, quote, suggestion } from '../../http/parameters.ts'
import { memo } from '../../lib/memo.ts'
import type { Field } from '../../model/entities.ts'
import type { FieldRef } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { readPath } from './paths.ts'
import type { Scope } from './scope.ts'
import { described, wrong } from './wrong.ts'

/** A field that a query names, or a member inside of it. */
export interface Found {
  readonly ref: FieldRef
  readonly field: Field
}

interface Names {
  readonly all: readonly string[]
  readonly byName: ReadonlyMap<string, Field>
  /**
   * Length of the longest name of a JSON field. Only these have members, so longer prefixes needn't be looked
   * up.
   */
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

/** Functions that are sometimes written like fields. */
const aggregates: readonly string[] = ['count', 'avg', 'sum', 'min', 'max']

/** Maximum length in characters of a path with members. A longer name can only be that of a field. */
const maxPathLength = 1_000

/**
 * Finds the field that a query names: by its name, or by a path to a member of it (`facts.os.family`). A
 * field whose name looks like a path comes first.
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
  if (parent) return memberOf(parent, node.text, node)
  const { hint, members } = suggestion(node.text, namesIn(scope.fields).all)
  const isFunction = aggregates.includes(node.text)
  const meant = isFunction
    ? ` A function is written ["function", "${node.text}"], and ${node.text}() in PQL.`
    : hint
  throw wrong(node, `${scope.name} has no field ${quote(node.text)}.${meant} ${fieldsOf(scope)}`, members)
}

export const whole = (field: Field): Found => ({
  ref: { name: field.name, path: [], type: field.type, ...(field.list && { list: true }) },
  field,
})

/** Lists the fields in a sentence. */
export const fieldsOf = (scope: Scope): string =>
  `Its fields are ${commaList(namesIn(scope.fields).all) || 'none'}.`

/**
 * Finds the field with the longest name that a path begins with. A field without members is still useful for
 * the error.
 */
function parentOf(text: string, scope: Scope): Field | undefined {
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
  return member(field, path)
}

/** Refers to a member of a JSON field. */
export const member = (field: Field, path: FieldRef['path']): Found => ({
  ref: { name: field.name, path, type: 'json' },
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
