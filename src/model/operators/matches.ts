import { compileExpression } from '../../lib/expressions.ts'
import { matchedText, numberText } from '../../lib/json-text.ts'
import { decimalKey, textForm } from '../../lib/sort-keys.ts'
import { elementTest } from '../json-values.ts'
import type { Leaf, PathElement } from '../plan.ts'
import type { Test, ValueOperator } from './operator.ts'

/** The text of the value matches an expression (docs/decisions/0036). */
export const matches: ValueOperator<Leaf<'matches'>> = {
  test({ field, expression }, { isJson }) {
    const matcher = compileExpression(expression)
    return isJson
      ? elementTest(field, value => matcher.test(matchedText(value)))
      : value => matcher.test(textForm(value))
  },
}

/** The elements of an array match patterns, one by one. */
export const pathMatches: ValueOperator<Leaf<'path matches'>> = {
  test({ elements }) {
    const tests = elements.map(testOf)
    return value =>
      Array.isArray(value) && value.length === tests.length && tests.every((test, at) => test(value[at]))
  },
}

function testOf(element: PathElement): Test {
  if (typeof element === 'number') {
    const wanted = decimalKey(String(element))
    return value => {
      const number = numberText(value)
      return number !== undefined && decimalKey(number) === wanted
    }
  }
  const matcher = compileExpression(element.expression)
  return value =>
    (typeof value === 'string' || (element.indexes && numberText(value) !== undefined)) &&
    matcher.test(matchedText(value))
}
