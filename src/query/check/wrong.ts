import { quote } from '../../http/parameters.ts'
import { type Node, type Place, QueryError, type QueryMembers } from '../language/node.ts'

export type ArrayNode = Extract<Node, { kind: 'array' }>

/** Makes an error about a place in a query, for the caller to throw. */
export const wrong = (
  { at }: { readonly at: Place },
  message: string,
  members: QueryMembers = {},
): QueryError => new QueryError(message, at, members)

/** Chooses advice in the language of the query: places in PQL are lines and columns. */
export const inLanguage = ({ at }: { readonly at: Place }, ast: string, pql: string): string =>
  'line' in at ? pql : ast

/** Shows a value of a query as messages name it. */
export function described(node: Node): string {
  if (node.kind === 'text' || node.kind === 'number') return written(node)
  if (node.kind === 'boolean') return String(node.value)
  if (node.kind === 'null') return 'null'
  return node.kind === 'array' ? 'an array' : 'an object'
}

const written = (node: Extract<Node, { kind: 'text' | 'number' }>) =>
  node.kind === 'text' ? quote(node.text) : quote(node.text).slice(1, -1)

/** Returns the operator that an array begins with; undefined for any other node. */
export function operatorOf(node: Node | undefined): string | undefined {
  const first = node?.kind === 'array' ? node.items[0] : undefined
  return first?.kind === 'text' ? first.text : undefined
}

/** Returns everything after the operator. */
export const argumentsOf = ({ items }: ArrayNode): readonly Node[] => items.slice(1)

const counts = ['no arguments', 'one argument', 'two arguments', 'three arguments']

/** @throws QueryError if the number of arguments is another one */
export function requireCount(node: ArrayNode, count: number, form: string): void {
  const given = node.items.length - 1
  if (given === count) return
  throw wrong(
    node,
    `${operatorOf(node)} takes exactly ${counts[count]}, but ${given} ${given === 1 ? 'was' : 'were'} given. Write ${form}.`,
    { form },
  )
}
