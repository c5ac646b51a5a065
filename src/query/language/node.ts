/**
 * A query as it was written, in the form of an AST (docs/decisions/0034): arrays that begin with an operator. PQL becomes
 * the same. It knows words, not entities.
 */
export type Node =
  | { readonly kind: 'array'; readonly items: readonly Node[]; readonly at: Place }
  | { readonly kind: 'text'; readonly text: string; readonly at: Place }
  /** As it was written, so that no digit is lost. */
  | { readonly kind: 'number'; readonly text: string; readonly at: Place }
  | { readonly kind: 'boolean'; readonly value: boolean; readonly at: Place }
  | { readonly kind: 'null'; readonly at: Place }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, Node>; readonly at: Place }

/** Where something is in a query. */
export type Place =
  /** In an AST, as a JSON pointer (RFC 6901): `/1/2`; '' is the whole. */
  | { readonly pointer: string }
  /** In PQL, both from 1. */
  | { readonly line: number; readonly column: number }

/** Bounds of what is read, for both readers: of characters, of nodes, of arrays in arrays, and of the digits of a number. */
export const bounds = { length: 1_000_000, nodes: 100_000, depth: 100, number: 1_000 } as const

/** What both readers say of a query that is over a bound. */
export const tooMuch = {
  length: `It is longer than ${bounds.length.toLocaleString('en')} characters.`,
  nodes: `It has more than ${bounds.nodes.toLocaleString('en')} parts.`,
  depth: `It is nested more than ${bounds.depth} deep.`,
  number: `A number has more than ${bounds.number.toLocaleString('en')} characters.`,
} as const

/** A query that can't be read or checked: a client's mistake, as a problem 400 tells it. */
export class QueryError extends Error {
  readonly at: Place
  /** For the problem's members, such as `legal` and `nearest`. */
  readonly members: Readonly<Record<string, unknown>>

  /** @param message a sentence that says what is wrong there, and what would be right */
  constructor(message: string, at: Place, members: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.at = at
    this.members = members
  }
}
