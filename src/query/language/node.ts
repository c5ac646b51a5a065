/**
 * A query as it was written, in the form of an AST (docs/decisions/0034): arrays that begin with an operator.
 * PQL is read into the same form. Names are words here; entities and fields aren't looked up yet.
 */
export type Node =
  | { readonly kind: 'array'; readonly items: readonly Node[]; readonly at: Place }
  | { readonly kind: 'text'; readonly text: string; readonly at: Place }
  /** The text keeps every digit as it was written. */
  | { readonly kind: 'number'; readonly text: string; readonly at: Place }
  | { readonly kind: 'boolean'; readonly value: boolean; readonly at: Place }
  | { readonly kind: 'null'; readonly at: Place }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, Node>; readonly at: Place }

/** A place in a query. */
export type Place =
  /** In an AST, a JSON pointer (RFC 6901) such as `/1/2`; '' is the whole query. */
  | { readonly pointer: string }
  /** In PQL, counted from 1. */
  | { readonly line: number; readonly column: number }

/**
 * Bounds of both readers: characters of a query, nodes, depth of nested arrays, and characters of a number.
 */
export const bounds = { length: 1_000_000, nodes: 100_000, depth: 100, number: 1_000 } as const

/** Messages of both readers for a query that exceeds a bound. */
export const tooMuch = {
  length: `It is longer than ${bounds.length.toLocaleString('en')} characters.`,
  nodes: `It has more than ${bounds.nodes.toLocaleString('en')} parts.`,
  depth: `It is nested more than ${bounds.depth} deep.`,
  number: `A number has more than ${bounds.number.toLocaleString('en')} characters.`,
} as const

/**
 * Kinds of mistakes in the member `mistake` of a problem, which the console explains in its own words. Without
 * one, the other members say all there is.
 */
export type Mistake =
  | 'quotes'
  | 'letters'
  | 'straight'
  | 'null'
  | 'unclosed'
  | 'escape'
  | 'index'
  | 'function'
  | 'brace'
  | 'case'
  | 'columns'
  | 'expression'
  | 'list'

/** A client's mistake in a query, which can't be read or checked; answered as a problem 400. */
export class QueryError extends Error {
  readonly at: Place
  readonly members: QueryMembers

  /** @param message a sentence that says what is wrong there, and what would be right */
  constructor(message: string, at: Place, members: QueryMembers = {}) {
    super(message)
    this.at = at
    this.members = members
  }
}

/** More members of the problem, such as `legal` and `nearest`. */
export type QueryMembers = Readonly<Record<string, unknown>> & { readonly mistake?: Mistake }

/** Writes a query as JSON, with numbers as they were written. `readAst` reads the same query from it. */
export function printAst(node: Node): string {
  switch (node.kind) {
    case 'array':
      return `[${node.items.map(printAst).join(',')}]`
    case 'object':
      return `{${[...node.members].map(([key, member]) => `${JSON.stringify(key)}:${printAst(member)}`).join(',')}}`
    case 'text':
      return JSON.stringify(node.text)
    case 'number':
      return node.text
    case 'boolean':
      return String(node.value)
    case 'null':
      return 'null'
  }
}

/** A part of a query that an address stands for. Numbers are texts, so that no digit is lost. */
export type Json = string | boolean | null | { readonly number: string } | readonly Json[]

const at = { pointer: '' }

export function nodeOf(json: Json): Node {
  if (json === null) return { kind: 'null', at }
  if (typeof json === 'string') return { kind: 'text', text: json, at }
  if (typeof json === 'boolean') return { kind: 'boolean', value: json, at }
  if ('number' in json) return { kind: 'number', text: json.number, at }
  return { kind: 'array', items: json.map(nodeOf), at }
}

/** Returns a function that numbers repeated names: the second `count` is called `count_2`, as in PuppetDB. */
export function uniqueNames(): (name: string) => string {
  const used = new Map<string, number>()
  return name => {
    let unique = name
    for (let count = used.get(name) ?? 0; used.has(unique); unique = `${name}_${count}`)
      used.set(name, ++count)
    used.set(unique, used.get(unique) ?? 1)
    return unique
  }
}
