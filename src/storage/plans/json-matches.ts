import { compileExpression } from '../../lib/expressions.ts'
import { matchedText, numberText } from '../../lib/json-text.ts'
import { decimalKey } from '../../lib/sort-keys.ts'
import type { PathElement } from '../../model/plan.ts'

/** A test of a JSON value that isn't null, for expressions that no engine can evaluate in SQL (Q20). */
type Test = (value: unknown) => boolean

/** Makes a test that passes if one element of a list does. @param isWhole true if the list itself may pass as well */
export const ofList =
  (test: Test, isWhole: boolean): Test =>
  value =>
    Array.isArray(value)
      ? (isWhole && test(value)) || value.some(element => element !== null && test(element))
      : test(value)

/** `~` @param isList of the field */
export function textTest(expression: string, isList: boolean): Test {
  const matches = compileExpression(expression)
  const test = (value: unknown) => matches(matchedText(value))
  return isList ? ofList(test, false) : test
}

/** `~>` */
export function pathTest(elements: readonly PathElement[]): Test {
  const tests = elements.map(elementTest)
  return value =>
    Array.isArray(value) && value.length === tests.length && tests.every((test, at) => test(value[at]))
}

function elementTest(element: PathElement): Test {
  if (typeof element === 'number') {
    const wanted = decimalKey(String(element))
    return value => {
      const number = numberText(value)
      return number !== undefined && decimalKey(number) === wanted
    }
  }
  const matches = compileExpression(element.expression)
  return value =>
    (typeof value === 'string' || (element.indexes && numberText(value) !== undefined)) &&
    matches(matchedText(value))
}
