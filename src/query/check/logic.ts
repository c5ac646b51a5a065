import type { Node } from '../language/node.ts'
import { combined } from './normal-form.ts'
import type { Checked, Scope } from './scope.ts'
import { type ArrayNode, argumentsOf, operatorOf, requireCount, wrong } from './wrong.ts'

type Kind = 'and' | 'or'

/**
 * `and`, `or` and `not`. De Morgan's laws hold for three-valued logic, too: unknown is its own negation. So `not` moves to
 * the leaves, where a negated comparison still wants a value (docs/decisions/0034).
 */
export function logic(node: ArrayNode, negated: boolean, scope: Scope): Checked {
  const operator = operatorOf(node)
  if (operator === 'not') return scope.shared.condition(inside(node), !negated, scope)
  const kind = kindOf(operator, negated)
  const parts: Checked[] = []
  collect(node, negated, kind, parts, scope)
  return combined(kind, parts)
}

const kindOf = (operator: string | undefined, negated: boolean): Kind =>
  (operator === 'and') === negated ? 'or' : 'and'

/** Operands of operands at once: long chains would be put in order again on every level. */
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
