import { listed } from '../../http/parameters.ts'
import type { Node } from '../language/node.ts'
import { type Found, fieldNamed, fieldsOf, findField, member, whole } from './fields.ts'
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
  const subject = shorthand(node, scope) ?? findField(node, scope)
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
  if (operator === 'node')
    throw wrong(
      node,
      `There is no ["node", "active"] here, because nodes have no state of their own. ${fieldsOf(scope)}`,
    )
  if (operator === 'function')
    throw wrong(
      node,
      'A condition has no functions. Compare results in ["having", condition], by the name of their column.',
    )
  throw wrong(node, `This condition takes one field. ${fieldsOf(scope)}`, {
    legal: listed(scope.fields.map(({ name }) => name)),
  })
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
