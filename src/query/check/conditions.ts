import { commaList, listed, quote, suggestion } from '../../http/parameters.ts'
import type { Node } from '../language/node.ts'
import type { Comparison } from '../language/pql-terms.ts'
import { clauseOf } from './clauses.ts'
import { equals, inOrder, isNull, matches, pathMatches, textMatches } from './comparisons.ts'
import { fieldNamed } from './fields.ts'
import { isIn } from './in.ts'
import { combined } from './normal-form.ts'
import type { Checked, Scope } from './scope.ts'
import { aboutFact, isAboutFact, subquery } from './subqueries.ts'
import { type ArrayNode, argumentsOf, described, operatorOf, requireCount, wrong } from './wrong.ts'

type Check = (node: ArrayNode, negated: boolean, scope: Scope) => Checked

const known: Readonly<Record<Comparison, Check> & Record<string, Check>> = {
  '=': equals,
  '<': inOrder,
  '<=': inOrder,
  '>': inOrder,
  '>=': inOrder,
  '~': matches,
  '~>': pathMatches,
  'null?': isNull,
  in: isIn,
  subquery,
  match: textMatches,
  and: logic,
  or: logic,
  not: logic,
}

const operators = new Map(Object.entries(known))

const names = [...operators.keys()]

/** Operators of other languages, each with ours and how to write it. */
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

/** Checks a condition. @param negated true inside of a `not` @returns null if every record matches */
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
      { legal: names },
    )
  if (clauseOf(node) !== undefined)
    return wrong(
      at,
      `${operator} is no condition, but a clause: it stands after the query in ${operator === 'limit' || operator === 'offset' || operator === 'order_by' ? '["from", entity, query, …]' : '["extract", columns, condition, …]'}.`,
      { legal: names },
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

const name = 'latest_report?'

/** The field with the hash of a report, by entity of PuppetDB. */
const hashFields: Readonly<Record<string, string>> = { reports: 'hash', events: 'report' }

const hashField = ({ entity }: Scope): string | undefined => hashFields[entity?.name ?? '']

/** True for a condition on `latest_report?`, if that is PuppetDB's shorthand and no field. */
const isAboutLatestReport = (node: ArrayNode, scope: Scope): boolean => {
  const [, subject] = node.items
  return (
    subject?.kind === 'text' &&
    subject.text === name &&
    hashField(scope) !== undefined &&
    !fieldNamed(name, scope) &&
    scope.shared.entities.get('nodes')?.fields.some(field => field.name === 'latest_report_hash') === true
  )
}

/** `["=", "latest_report?", true]` asks whether a node has the report as its latest. */
function aboutLatestReport(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const [, value, more] = argumentsOf(node)
  if (operatorOf(node) !== '=' || value?.kind !== 'boolean' || more)
    throw wrong(value ?? node, `${name} is compared with true or false: ["=", "${name}", true].`, {
      legal: [true, false],
    })
  const { at } = node
  const list = (...items: readonly Node[]): ArrayNode => ({ kind: 'array', items, at })
  const said = (text: string): Node => ({ kind: 'text', text, at })
  const hashes = list(said('from'), said('nodes'), list(said('extract'), list(said('latest_report_hash'))))
  const condition = list(said('in'), said(hashField(scope) ?? ''), hashes)
  return isIn(condition, negated === value.value, scope)
}

type Kind = 'and' | 'or'

/**
 * `and`, `or` and `not`. De Morgan's laws hold for three-valued logic, too, because unknown is its own
 * negation. So `not` moves to the leaves, where a negated comparison still requires a value
 * (docs/decisions/0034).
 */
function logic(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const operator = operatorOf(node)
  if (operator === 'not') return scope.shared.condition(inside(node), !negated, scope)
  const kind = kindOf(operator, negated)
  const parts: Checked[] = []
  collect(node, negated, kind, parts, scope)
  return combined(kind, parts)
}

const kindOf = (operator: string | undefined, negated: boolean): Kind =>
  (operator === 'and') === negated ? 'or' : 'and'

/**
 * Collects the operands of nested operators in one list. A long chain would be sorted again on every level otherwise.
 */
function collect(node: Node, negated: boolean, kind: Kind, parts: Checked[], scope: Scope): void {
  const operator = operatorOf(node)
  if (node.kind === 'array' && operator === 'not') {
    collect(inside(node), !negated, kind, parts, scope)
    return
  }
  if (node.kind === 'array' && (operator === 'and' || operator === 'or')) {
    const of = argumentsOf(node)
    if (of.length === 0)
      throw wrong(node, `${operator} takes at least one argument, but none were given.`, {
        form: `["${operator}", condition, …]`,
      })
    if (of.length === 1 || kindOf(operator, negated) === kind) {
      for (const one of of) collect(one, negated, kind, parts, scope)
      return
    }
  }
  parts.push(scope.shared.condition(node, negated, scope))
}

function inside(node: ArrayNode): Node {
  requireCount(node, 1, '["not", condition]')
  return node.items[1] ?? node
}
