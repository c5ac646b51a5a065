import { compileExpression } from '../../lib/expressions.ts'
import { textForm } from '../../lib/sort-keys.ts'
import type { FieldType } from '../../model/entities.ts'
import { orderOf } from '../../model/value-order.ts'
import { comparisons, constantValue, jsonTest, type ValueCondition } from '../plans/json-values.ts'

/**
 * The condition as a test of a single value that is not null, with `negated` left out.
 * @param collation of the field that the value comes from
 */
export function testOf(
  condition: ValueCondition,
  type: FieldType,
  collation?: string,
): (value: unknown) => boolean {
  if (type === 'json' || condition.kind === 'path matches') return jsonTest(condition)
  if (condition.kind === 'matches') {
    const test = compileExpression(condition.expression)
    return value => test(textForm(value))
  }
  const order = orderOf({ type, ...(collation !== undefined && { collation }) })
  if (condition.kind === 'in') {
    const keys = new Set(condition.values.map(constant => order.key(constantValue(constant))))
    return value => keys.has(order.key(value))
  }
  const key = order.key(constantValue(condition.value))
  const holds = comparisons[condition.operator]
  return value => holds(order.compare(order.key(value), key))
}
