import { compileExpression, matchedText } from '../../lib/expressions.ts'
import { numberText } from '../../lib/json.ts'
import { textForm } from '../../lib/sort-keys.ts'
import type { FieldType } from '../entities.ts'
import { constantValue, elementTest, equalTest } from '../json-values.ts'
import type { FieldRef } from '../plan.ts'
import { orderOf } from '../value-order.ts'
import type { Searched, Test } from './operator.ts'

/** Comparisons by the sign of the difference. */
export const comparisons = {
  '=': (compared: number) => compared === 0,
  '<': (compared: number) => compared < 0,
  '<=': (compared: number) => compared <= 0,
  '>': (compared: number) => compared > 0,
  '>=': (compared: number) => compared >= 0,
} as const

/** Finds values by testing single ones. */
export function testsOf(field: FieldRef, type: FieldType, collation?: string): Searched<Test> {
  const isJson = type === 'json'
  const order = orderOf({ type, collation })
  return {
    equal: constants => equalTest(field, constants, order),
    ordered: (operator, constant) => {
      const key = order.key(constantValue(constant))
      const holds = comparisons[operator]
      const test = (value: unknown) => holds(order.compare(order.key(value), key))
      if (!isJson) return test
      if (constant.kind !== 'number') return () => false
      return elementTest(field, value => numberText(value) !== undefined && test(value))
    },
    matching: expression => {
      const matcher = compileExpression(expression)
      return isJson
        ? elementTest(field, value => matcher.test(matchedText(value)))
        : value => matcher.test(textForm(value))
    },
    tested: ({ test }, isOfArrays) => (isOfArrays ? test() : elementTest(field, test())),
  }
}
