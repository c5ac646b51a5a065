import type { Node } from './language/node.ts'

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
