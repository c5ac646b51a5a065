import { quote } from '../../http/parameters.ts'
import { canonicalNumber } from '../../lib/decimals.ts'
import { instantAt, instantForms, readInstant } from '../../lib/read-instant.ts'
import { type Constant, eachElement } from '../../model/plan.ts'
import type { Node } from '../language/node.ts'
import { type Found, typeNames } from './fields.ts'
import { most, type Scope } from './scope.ts'
import { described, wrong } from './wrong.ts'

/** The owner of the compared fields. */
type Owner = Pick<Scope, 'name' | 'entity'>

/**
 * Reads a value to compare a field with. Nothing is converted silently: a number never becomes text, nor text
 * a number.
 * @throws QueryError for a value of another type, which says what to write
 */
export function constantFor({ ref, field }: Found, node: Node, scope: Owner): Constant {
  const steps = ref.path.map(step => (step === eachElement ? '*' : step))
  const name = [field.name, ...steps].join('.')
  const refused = (advice: string) =>
    wrong(node, `${quote(name)} is ${typeNames[ref.type]}, and ${described(node)} isn't: ${advice}`, {
      legal: [ref.type],
    })
  if (node.kind === 'null')
    throw wrong(node, `Nothing compares with null. Write ["null?", ${quote(name)}, true].`)
  switch (ref.type) {
    case 'text':
      if (node.kind === 'text') return textConstant(node, scope)
      if (node.kind === 'number' || node.kind === 'boolean')
        throw refused(`write ${quote(writtenOf(node))}, in quotes.`)
      throw refused('write a text in quotes.')
    case 'integer':
    case 'number':
      if (node.kind === 'number') return numberConstant(node)
      if (node.kind === 'text' && /^-?\d{1,20}(\.\d{1,20})?$/.test(node.text))
        throw refused(`write ${node.text}, without quotes.`)
      throw refused('write a number, such as 5.')
    case 'boolean':
      if (node.kind === 'boolean') return { kind: 'boolean', value: node.value }
      throw refused('write true or false, without quotes.')
    case 'date-time':
      return instantConstant(node, refused)
    case 'json':
      return jsonConstant(node, scope)
  }
}

/** Reads a value of `in`. For a field of text, numbers and booleans become text, as in PuppetDB. */
export const elementFor = (found: Found, node: Node, scope: Owner): Constant =>
  found.ref.type === 'text' && (node.kind === 'number' || node.kind === 'boolean')
    ? { kind: 'text', text: writtenOf(node) }
    : constantFor(found, node, scope)

const writtenOf = (node: Extract<Node, { kind: 'number' | 'boolean' }>) =>
  node.kind === 'number' ? node.text : String(node.value)

function textConstant(node: Extract<Node, { kind: 'text' }>, scope: Owner): Constant {
  return { kind: 'text', text: usable(node.text, node, scope) }
}

/**
 * Returns a text that any store can compare with. Only imported records can hold U+0000; columns of a
 * database can't.
 * @throws QueryError for any other text
 */
export function usable(text: string, node: Node, scope: Owner): string {
  if (!text.isWellFormed())
    throw wrong(node, 'The text has half of a surrogate pair, which is no character of Unicode.')
  if (text.includes('\0') && scope.entity?.source.kind !== 'records')
    throw wrong(node, `The text has the character U+0000, which ${scope.name} can't have.`)
  return text
}

const numberConstant = (node: Extract<Node, { kind: 'number' }>): Constant => ({
  kind: 'number',
  text: exactNumber(node),
})

function exactNumber(node: Extract<Node, { kind: 'number' }>): string {
  const text = canonicalNumber(node.text)
  if (text === undefined) throw wrong(node, `The number ${described(node)} has more than 1,000 digits.`)
  return text
}

function instantConstant(node: Node, refused: (advice: string) => Error): Constant {
  const text =
    node.kind === 'text'
      ? readInstant(node.text)?.text
      : node.kind === 'number'
        ? instantAt(node.text)
        : undefined
  if (text === undefined) throw refused(`write ${instantForms}, or milliseconds since 1970 as a number.`)
  return { kind: 'instant', text }
}

function jsonConstant(node: Node, scope: Owner): Constant {
  if (node.kind === 'text') return textConstant(node, scope)
  if (node.kind === 'number') return numberConstant(node)
  if (node.kind === 'boolean') return { kind: 'boolean', value: node.value }
  const json = canonicalJson(node, scope)
  if (json.length > most.json)
    throw wrong(
      node,
      `A value of JSON has at most ${most.json.toLocaleString('en')} characters. Ask for some of its members.`,
    )
  return { kind: 'json', json }
}

/** Writes JSON with sorted keys and canonical numbers. The recursion is no deeper than the readers allow. */
function canonicalJson(node: Node, scope: Owner): string {
  switch (node.kind) {
    case 'text':
      return JSON.stringify(usable(node.text, node, scope))
    case 'number':
      return exactNumber(node)
    case 'array':
      return `[${node.items.map(item => canonicalJson(item, scope)).join()}]`
    case 'object': {
      const members = [...node.members].toSorted(([one], [other]) => (one < other ? -1 : 1))
      const written = members.map(
        ([key, value]) => `${JSON.stringify(usable(key, node, scope))}:${canonicalJson(value, scope)}`,
      )
      return `{${written.join()}}`
    }
    default:
      return described(node)
  }
}
