import { commaList, listed, quote, suggestion } from '../../http/parameters.ts'
import type { Node } from '../language/node.ts'
import { equals, inOrder, isNull } from './comparisons.ts'
import { clauseOf } from './form.ts'
import { isIn } from './in.ts'
import { aboutLatestReport, isAboutLatestReport } from './latest-report.ts'
import { logic } from './logic.ts'
import { matches, pathMatches, textMatches } from './matching.ts'
import type { Checked, Scope } from './scope.ts'
import { aboutFact, isAboutFact, subquery } from './subquery.ts'
import { type ArrayNode, described, operatorOf, wrong } from './wrong.ts'

type Check = (node: ArrayNode, negated: boolean, scope: Scope) => Checked

const operators: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['=', equals],
  ['<', inOrder],
  ['<=', inOrder],
  ['>', inOrder],
  ['>=', inOrder],
  ['~', matches],
  ['~>', pathMatches],
  ['null?', isNull],
  ['in', isIn],
  ['subquery', subquery],
  ['match', textMatches],
  ['and', logic],
  ['or', logic],
  ['not', logic],
])

const names = [...operators.keys()]

/** What other languages have for our operators. */
const meant: Readonly<Record<string, readonly [string, string]>> = {
  '!=': ['not', '["not", ["=", field, value]]'],
  '<>': ['not', '["not", ["=", field, value]]'],
  '!~': ['not', '["not", ["~", field, expression]]'],
  '==': ['=', '["=", field, value]'],
  '===': ['=', '["=", field, value]'],
  '=~': ['~', '["~", field, expression]'],
  '~*': ['~', '["~", field, "(?i)expression"]'],
  '!': ['not', '["not", condition]'],
  '&&': ['and', '["and", condition, …]'],
  '||': ['or', '["or", condition, …]'],
  like: ['~', '["~", field, expression]'],
  ilike: ['~', '["~", field, "(?i)expression"]'],
  'is null': ['null?', '["null?", field, true]'],
  'is not null': ['null?', '["null?", field, false]'],
}

/**
 * Checks a condition.
 * @param negated whether it stands in a `not`
 * @returns null: every record matches
 */
export function checkCondition(node: Node, negated: boolean, scope: Scope): Checked {
  if (node.kind !== 'array')
    throw wrong(
      node,
      `A condition is an array that begins with an operator, such as ["=", field, value], not ${described(node)}.`,
    )
  if (node.items.length === 0)
    throw wrong(node, '[] is no condition: a condition begins with an operator.', { legal: names })
  const operator = operatorOf(node)
  if (operator === undefined)
    throw wrong(node.items[0] ?? node, `An operator is text, not ${described(node.items[0] ?? node)}.`, {
      legal: names,
    })
  const check = operators.get(operator)
  if (!check) throw unknown(node, operator)
  if (isAboutLatestReport(node, scope)) return aboutLatestReport(node, negated, scope)
  return isAboutFact(node, scope) ? aboutFact(node, negated, scope) : check(node, negated, scope)
}

function unknown(node: ArrayNode, operator: string): Error {
  const at = node.items[0] ?? node
  if (operator === 'from' || operator === 'extract')
    return wrong(
      at,
      `${operator} is no condition. It stands at the beginning of a query, or in ["in", field, …].`,
      {
        legal: names,
      },
    )
  if (clauseOf(node) !== undefined)
    return wrong(
      at,
      `${operator} is no condition, but a clause: it stands after the query in ${operator === 'limit' || operator === 'offset' || operator === 'order_by' ? '["from", entity, query, …]' : '["extract", columns, condition, …]'}.`,
      {
        legal: names,
      },
    )
  const [near, form] = Object.hasOwn(meant, operator.toLowerCase())
    ? (meant[operator.toLowerCase()] ?? [])
    : []
  if (near !== undefined)
    return wrong(at, `There is no operator ${quote(operator)}. Write ${form}.`, {
      legal: listed(names),
      nearest: near,
    })
  const { hint, members } = suggestion(operator, names)
  return wrong(
    at,
    `There is no operator ${quote(operator)}.${hint} The operators are ${commaList(names)}.`,
    members,
  )
}
