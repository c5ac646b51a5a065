import { commaList, quote, suggestion } from '../../http/parameters.ts'
import type { FieldType } from '../../model/entities.ts'
import type { Argument } from '../../model/functions/function.ts'
import { callsOf, functions, type QueryFunction } from '../../model/functions/functions.ts'
import type { Aggregate, Scalar } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { type Found, findField, typeNames } from './fields.ts'
import type { Match, Scope } from './scope.ts'
import { type ArrayNode, argumentsOf, described, inLanguage, operatorOf, wrong } from './wrong.ts'

/** The result of a function. Its name becomes the name of the column. */
export interface Called {
  readonly name: string
  readonly value: Scalar | Aggregate
  readonly type: FieldType
  readonly isSortable: boolean
}

interface Call {
  readonly node: ArrayNode
  readonly name: string
  readonly args: readonly Node[]
  readonly of: QueryFunction
  readonly scope: Scope
}

/** `["function", name, field?, …]` @throws QueryError */
export function readFunction(node: ArrayNode, scope: Scope): Called {
  const [named, ...args] = argumentsOf(node)
  const names = [...functions.keys()]
  if (named?.kind !== 'text')
    throw wrong(named ?? node, 'A function has a name: ["function", "count"].', { legal: names })
  const of = functions.get(named.text)
  if (!of) {
    const { hint, members } = suggestion(named.text, names)
    throw wrong(
      named,
      `There is no function ${quote(named.text)}.${hint} The functions are ${names.join(', ')}.`,
      members,
    )
  }
  const { name = named.text, value, type } = read({ node, name: named.text, args, of, scope })
  return { name, value, type, isSortable: true }
}

/**
 * Reads a function in a condition. Only those that compute a value of one record stand there.
 * @returns undefined for a node that is no function
 */
export function readComputed(node: Node, scope: Scope): Found | undefined {
  if (operatorOf(node) !== 'function' || node.kind !== 'array') return undefined
  const [named, field] = argumentsOf(node)
  const name = named?.kind === 'text' ? named.text : ''
  if (scope.entity === null || !ofRecords.includes(name))
    throw wrong(
      node,
      `A condition has no function but ${commaList(ofRecords)}. Compare results in ["having", condition], by the name of their column.`,
      { legal: ofRecords },
    )
  const { value } = readFunction(node, scope)
  if (value.kind !== 'field' || field === undefined) throw new Error('a function of records computes a field')
  const { sortable: _, ...known } = findField(field, scope).field
  return { ref: value.field, field: known }
}

/** The functions that conditions may have. */
const ofRecords: readonly string[] = [...functions].flatMap(([name, of]) =>
  of.kind === 'computed' && of.inConditions ? name : [],
)

function read(call: Call): Pick<Called, 'value' | 'type'> & { readonly name?: string } {
  const { name, args, of, node } = call
  if (of.kind === 'search') return { value: ofSearch(call), type: of.field === 'none' ? 'number' : 'text' }
  if (args.length === 0 && of.kind === 'aggregate' && of.field === 'optional')
    return { value: { kind: 'aggregate', name: name as Aggregate['name'], field: null }, type: 'integer' }
  const { found, argument } = argumentsIn(call)
  const { ref } = found
  if (of.kind === 'computed') {
    const { computed, type } = of.plan(ref.type, argument)
    const { list: _, ...plain } = ref
    const value = { kind: 'field', field: { ...plain, type, computed } } as const
    const [field] = args
    const isNamedByField = of.inConditions === 'by'
    return { value, type, ...(isNamedByField && { name: field?.kind === 'text' ? field.text : ref.name }) }
  }
  if (of.types && ref.list && ref.path.length > 0)
    throw wrong(args[0] ?? node, `${name} can't be made of lists; [*] lists what all elements have.`)
  const is = of.is ?? {
    name: name as Aggregate['name'],
    ...(of.argument && { argument: of.argument(argument) }),
  }
  return { value: { kind: 'aggregate', field: ref, ...is }, type: of.type(ref.type) }
}

/** Reads the field, and what stands behind it. @throws QueryError if there is more or less, or the type doesn't fit */
function argumentsIn({ node, name, args, of, scope }: Call) {
  const [field, behind, rest] = args
  const { takes, types } = of
  const more = takes ? rest : behind
  if (!field || more || (takes && !behind)) {
    const examples = takes?.examples.map(one => `"field", ${JSON.stringify(one)}`) ?? ['"field"']
    const asts = examples.map(one => `["function", "${name}", ${one}]`).join(' or ')
    const isBy = of.kind === 'computed' && of.inConditions === 'by'
    const form = isBy ? asts : inLanguage(node, asts, callsOf(name, of).at(-1) ?? '')
    throw wrong(more ?? node, `${name} takes ${takes?.words ?? 'one field'}: ${form}.`)
  }
  const found = findField(field, scope)
  if (of.kind === 'aggregate' && of.ordered && found.ref.type !== 'json' && found.field.sortable === false)
    throw wrong(field, `${name} needs an order, and the values of ${quote(found.field.name)} have none.`)
  if (types && !types.includes(found.ref.type))
    throw wrong(
      field,
      `${name} can't be made of ${quote(found.field.name)}, which is ${typeNames[found.ref.type]}.`,
      { legal: types },
    )
  return { found, argument: argumentOf(behind ?? node) }
}

const argumentOf = (node: Node): Argument => ({
  kind: node.kind,
  text: node.kind === 'text' || node.kind === 'number' ? node.text : '',
  shown: described(node),
  wrong: (message, members) => wrong(node, message, members),
})

function ofSearch(call: Call): Scalar {
  const { node, args, of, scope } = call
  const [more] = args
  if (of.field === 'none') {
    if (more) throw wrong(more, `${call.name} takes no arguments.`)
    return relevanceOf(node, scope)
  }
  const { ref } = argumentsIn(call).found
  if (ref.related)
    throw wrong(
      node,
      `highlight marks words in fields of ${scope.name} itself, and ${quote(ref.name)} is one of a related entity.`,
    )
  return { kind: 'highlight', field: ref, words: matchOf(node, scope).words }
}

/** Rates how well a record matches the searches of the query. @throws QueryError if there are none */
export const relevanceOf = (node: Node, scope: Scope): Scalar => ({
  kind: 'relevance',
  ...matchOf(node, scope),
})

/** Joins all searches of the query into one. */
function matchOf(node: Node, { matches }: Scope): Match {
  if (matches.length === 0)
    throw wrong(
      node,
      'relevance and highlight need a search: add ["match", field, "words"] to the condition.',
    )
  const fields = new Map(matches.flatMap(match => match.fields).map(field => [JSON.stringify(field), field]))
  const words = new Map(matches.flatMap(match => match.words).map(phrase => [JSON.stringify(phrase), phrase]))
  return { fields: [...fields.values()], words: [...words.values()] }
}
