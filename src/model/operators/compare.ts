import { numberText } from '../../lib/json.ts'
import { constantValue, elementTest, equalTest } from '../json-values.ts'
import type { Leaf } from '../plan.ts'
import type { ValueOperator } from './operator.ts'

/** Comparisons by the sign of the difference. */
export const comparisons = {
  '=': (compared: number) => compared === 0,
  '<': (compared: number) => compared < 0,
  '<=': (compared: number) => compared <= 0,
  '>': (compared: number) => compared > 0,
  '>=': (compared: number) => compared >= 0,
} as const

/** The value equals a constant, is less, or is more. Of JSON, only numbers are less or more. */
export const compare: ValueOperator<Leaf<'compare'>> = {
  find: ({ operator, value }, values) =>
    operator === '=' ? values.equal([value]) : values.ordered(operator, value),
  test({ field, operator, value: constant }, isJson, order) {
    if (operator === '=') return equalTest(field, [constant], order)
    const key = order.key(constantValue(constant))
    const holds = comparisons[operator]
    const test = (value: unknown) => holds(order.compare(order.key(value), key))
    if (!isJson) return test
    if (constant.kind !== 'number') return () => false
    return elementTest(field, value => numberText(value) !== undefined && test(value))
  },
}

/** The value equals one of several constants. */
export const isIn: ValueOperator<Leaf<'in'>> = {
  find: ({ values }, searched) => searched.equal(values),
  test: ({ field, values }, _, order) => equalTest(field, values, order),
}
