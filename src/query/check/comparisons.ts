import { quote } from '../../http/parameters.ts'
import { checkExpression, wholeExpression } from '../../lib/expressions.ts'
import type { Condition, FieldRef, PathElement } from '../../model/plan.ts'
import { maxWords, readTextQuery } from '../../model/text-query.ts'
import { type Node, QueryError } from '../language/node.ts'
import { constantFor, usable } from './constants.ts'
import { type Found, findField, lowered, subjectOf, typeNames, whole } from './fields.ts'
import { type Checked, countLeaves, most, type Scope } from './scope.ts'
import { type ArrayNode, described, inLanguage, operatorOf, requireCount, wrong } from './wrong.ts'

type Order = '<' | '<=' | '>' | '>='

const opposite: Readonly<Record<Order, Order>> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<' }

const isOrder = (operator: string): operator is Order => Object.hasOwn(opposite, operator)

/** Reads the field and the value of a comparison. */
function comparedIn(node: ArrayNode, form: string, scope: Scope) {
  requireCount(node, 2, form)
  const [, subject = node, value = node] = node.items
  const found = subjectOf(subject, scope)
  countLeaves(node, scope)
  return { subject, found, value }
}

/** `["=", field, value]`. A comparison with null matches records without a value, as in PuppetDB. */
export function equals(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const { subject, found, value } = comparedIn(node, '["=", field, value]', scope)
  if (isField(subject, value, found)) return compareFields('=', found, value, negated, scope)
  if (value.kind === 'null') return { kind: 'null', field: found.ref, negated }
  return equal(found.ref, constantFor(found, lowered(value, found), scope), negated)
}

function equal(field: FieldRef, value: ReturnType<typeof constantFor>, negated: boolean): Condition {
  if (value.kind === 'boolean' && field.type === 'boolean' && negated)
    return {
      kind: 'compare',
      field,
      operator: '=',
      value: { kind: 'boolean', value: !value.value },
      negated: false,
    }
  return { kind: 'compare', field, operator: '=', value, negated }
}

/** `["<", field, value]`, and the same for `<=`, `>` and `>=`. */
export function inOrder(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const operator = operatorOf(node) ?? ''
  if (!isOrder(operator)) throw wrong(node, `${operator} is no order.`)
  const { subject, found, value } = comparedIn(node, `["${operator}", field, value]`, scope)
  requireOrder(found, operator, subject)
  if (isField(subject, value, found)) return compareFields(operator, found, value, negated, scope)
  const { ref } = found
  if (ref.type === 'json' && value.kind !== 'number')
    throw wrong(value, `${operator} compares JSON with numbers, and ${described(value)} is none.`)
  const constant = constantFor(found, value, scope)
  // A value of JSON that isn't a number is neither less nor more, so the negation isn't the opposite
  // comparison.
  if (negated && ref.type !== 'json')
    return { kind: 'compare', field: ref, operator: opposite[operator], value: constant, negated: false }
  return { kind: 'compare', field: ref, operator, value: constant, negated }
}

/**
 * True if the value is another field. Then the first one is written as an array, too, because JSON may equal an
 * array such as `["field", "x"]`.
 */
function isField(subject: Node, value: Node, { ref }: Found): boolean {
  const what = operatorOf(value)
  if (what !== 'field' && what !== 'function') return false
  if (subject.kind === 'array') return true
  if (ref.type === 'json') return false
  throw wrong(value, 'Fields are compared with each other as ["=", ["field", "height"], ["field", "width"]].')
}

type Compared = Extract<Condition, { kind: 'fields' }>

function compareFields(
  operator: Compared['operator'],
  found: Found,
  value: Node,
  negated: boolean,
  scope: Scope,
): Compared {
  if (scope.entity === null) throw wrong(value, 'having compares columns with values, not with each other.')
  const other = otherField(value, scope)
  for (const { ref, field } of [found, other])
    if (ref.list)
      throw wrong(
        value,
        `${quote(field.name)} is a list, and only single values are compared with each other.`,
      )
  if (operator !== '=') requireOrder(other, operator, value)
  const kinds = [found, other].map(({ ref: { type } }) => (type === 'integer' ? 'number' : type))
  const [one, two] = kinds
  const isWithJson =
    kinds.includes('json') &&
    (operator === '=' ? !kinds.includes('date-time') : kinds.includes('number') || one === two)
  if (one !== two && !isWithJson)
    throw wrong(
      value,
      `${quote(found.field.name)} is ${typeNames[found.ref.type]} and ${quote(other.field.name)} is ${typeNames[other.ref.type]}, so they can't be compared by ${operator}.`,
    )
  return { kind: 'fields', field: found.ref, operator, other: other.ref, negated }
}

/** A word that is no field may have been meant as a text. */
function otherField(node: Node, scope: Scope): Found {
  try {
    return subjectOf(node, scope)
  } catch (error) {
    const name = node.kind === 'array' ? node.items[1] : undefined
    if (!(error instanceof QueryError) || operatorOf(node) !== 'field' || name?.kind !== 'text') throw error
    throw wrong(error, `${error.message} A text needs quotes: ${quote(name.text)}.`, error.members)
  }
}

function requireOrder({ ref, field }: Found, operator: string, node: Node): void {
  const hasOrder = ref.type === 'json' || (ref.type !== 'boolean' && field.sortable !== false)
  if (hasOrder) return
  const what = ref.type === 'boolean' ? `is ${typeNames.boolean}` : 'has values without an order'
  throw wrong(node, `${operator} can't compare ${quote(field.name)}, which ${what}. Use = or in.`, {
    legal: ['=', 'in', 'null?'],
  })
}

/** `["null?", field, true]` */
export function isNull(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const { found, value: wanted } = comparedIn(node, '["null?", field, true]', scope)
  if (wanted.kind !== 'boolean')
    throw wrong(wanted, `The second argument of null? is true or false, not ${described(wanted)}.`, {
      legal: [true, false],
    })
  return { kind: 'null', field: found.ref, negated: wanted.value === negated }
}

/** `["~", field, expression]` */
export function matches(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const { subject, found, value: expression } = comparedIn(node, '["~", field, "expression"]', scope)
  const { ref, field } = found
  if (ref.type !== 'text' && ref.type !== 'json')
    throw wrong(
      subject,
      `~ matches text, and ${quote(field.name)} is ${typeNames[ref.type]}. Use =, in${ref.type === 'boolean' ? '' : ', <, <=, > or >='}.`,
    )
  if (expression.kind !== 'text')
    throw wrong(
      expression,
      `The second argument of ~ is an expression as text, not ${described(expression)}.`,
    )
  return { kind: 'matches', field: ref, expression: expressionIn(expression, scope), negated }
}

/** Number of characters that a shorter expression counts as. */
const leastText = most.expressionText / most.expressions

function expressionIn(node: Extract<Node, { kind: 'text' }>, scope: Scope): string {
  scope.shared.expressionTextLeft -= Math.max(node.text.length, leastText)
  if (scope.shared.expressionTextLeft < 0)
    throw wrong(
      node,
      `A query has at most ${most.expressions} expressions, of ${most.expressionText.toLocaleString('en')} characters altogether. Join some of them with |.`,
      { most: most.expressions },
    )
  const text = usable(node.text, node, scope)
  if (text.includes('\b'))
    throw wrong(
      node,
      'The expression has a backspace. In JSON and in PQL\'s double quotes, the edge of a word is written "\\\\b".',
    )
  const reason = checkExpression(text)
  if (reason !== undefined)
    throw wrong(
      node,
      `The expression ${quote(text)} can't be used: ${reason}. Expressions have RE2's syntax.`,
      { mistake: 'expression' },
    )
  return text
}

const maxElements = 100

/**
 * `["~>", field, [expression or index, …]]`. An expression matches a whole element. It may match an index by
 * its digits, but an expression of digits alone matches only text.
 */
export function pathMatches(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const { subject, found, value: list } = comparedIn(node, '["~>", field, ["expression", 0, …]]', scope)
  const { ref, field } = found
  if (ref.type !== 'json')
    throw wrong(subject, `~> matches arrays, and ${quote(field.name)} is ${typeNames[ref.type]}. Use ~ or =.`)
  const form = 'a list of expressions and of indexes, such as ["os", ".*", 0]'
  if (list.kind !== 'array')
    throw wrong(list, `The second argument of ~> is ${form}, not ${described(list)}.`)
  if (list.items.length > maxElements) throw wrong(list, `A path has at most ${maxElements} elements.`)
  const elements = list.items.map((item): PathElement => {
    if (item.kind === 'text')
      return { expression: wholeExpression(expressionIn(item, scope)), indexes: !/^\d+$/.test(item.text) }
    if (item.kind === 'number' && /^\d{1,9}$/.test(item.text)) return Number(item.text)
    throw wrong(item, `${described(item)} has no place here: the second argument of ~> is ${form}.`)
  })
  return { kind: 'path matches', field: ref, elements, negated }
}

/** Number of comparisons that one search of one field counts as. */
const costOfSearch = 5

/** `["match", field | [field, …] | "*", "words"]` */
export function textMatches(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  requireCount(node, 2, '["match", field, "words"]')
  if (scope.plainFor !== null)
    throw wrong(node, `${scope.plainFor} can't search for words with match. Use ~.`)
  const [, where = node, text = node] = node.items
  const fields = searched(where, scope).map(({ ref }) => ref)
  countLeaves(node, scope, fields.length * costOfSearch)
  if (text.kind !== 'text')
    throw wrong(
      text,
      `The second argument of match is the words to look for as text, not ${described(text)}.`,
    )
  if (text.text.length > most.searched)
    throw wrong(text, `match looks for at most ${most.searched.toLocaleString('en')} characters.`)
  const words = readTextQuery(usable(text.text, text, scope))
  if (words.length === 0) throw wrong(text, `There is no word in ${quote(text.text)} to look for.`)
  if (words.reduce((sum, phrase) => sum + phrase.words.length, 0) > maxWords)
    throw wrong(text, `match looks for at most ${maxWords} words.`)
  // Words that must be absent can't be marked, and don't tell how well the rest matches.
  if (!negated) scope.matches.push({ fields, words })
  return { kind: 'text', fields, words, negated }
}

function searched(node: Node, scope: Scope): readonly Found[] {
  if (node.kind === 'text' && node.text === '*') {
    const texts = scope.fields.filter(({ type }) => type === 'text' || type === 'json').map(whole)
    if (texts.length === 0) throw wrong(node, `${scope.name} has no field of text or JSON to look in.`)
    return texts
  }
  const nodes = node.kind === 'array' ? node.items : [node]
  if (nodes.length === 0 || nodes.length > most.fields)
    throw wrong(
      node,
      `match looks in 1 to ${most.fields} fields, or with "*" in all fields of text and JSON.`,
    )
  const unique = new Map(nodes.map(one => [one.kind === 'text' ? one.text : '', textField(one, scope)]))
  return [...unique].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, found]) => found)
}

function textField(node: Node, scope: Scope): Found {
  const found = findField(node, scope)
  if (found.ref.related)
    throw wrong(
      node,
      `match looks in fields of ${scope.name} itself, and ${quote(found.ref.name)} is one of a related entity. Write ${inLanguage(node, '["subquery", entity, ["match", field, "words"]]', 'entity { field match "words" }')}.`,
    )
  if (found.ref.type !== 'text' && found.ref.type !== 'json')
    throw wrong(
      node,
      `match looks in text and JSON, and ${quote(found.field.name)} is ${typeNames[found.ref.type]}.`,
    )
  scope.mentioned.add(found.field.name)
  return found
}
