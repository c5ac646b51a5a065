import { decimalKey } from '../../lib/decimals.ts'
import { compileExpression, matchedText } from '../../lib/expressions.ts'
import { numberText } from '../../lib/json.ts'
import type { Leaf, PathElement } from '../plan.ts'
import type { Sql, Test, ValueOperator } from './operator.ts'

/** The elements of an array match patterns, one by one. */
export const pathMatches: ValueOperator<Leaf<'path matches'>> = ({ elements }, values) =>
  values.tested({ test: () => testOf(elements), sql: value => sqlOf(elements, value) }, true)

function testOf(elements: readonly PathElement[]): Test {
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
  const matcher = compileExpression(element.expression)
  return value =>
    (typeof value === 'string' || (element.indexes && numberText(value) !== undefined)) &&
    matcher.test(matchedText(value))
}

/** SQL that is true if a value of `jsonb` is an array whose elements match. */
function sqlOf(elements: readonly PathElement[], { value, bind, matches }: Sql): string {
  const tests = elements.map((element, at) => {
    const one = `(${value} -> ${at})`
    if (typeof element === 'number')
      return `CASE WHEN jsonb_typeof(${one}) = 'number' THEN CAST(${one} AS NUMERIC) = CAST(${bind(String(element))} AS NUMERIC) ELSE false END`
    const kinds = element.indexes ? "'string', 'number'" : "'string'"
    return `CASE WHEN jsonb_typeof(${one}) IN (${kinds}) THEN ${matches(one, element.expression)} ELSE false END`
  })
  const all = [`jsonb_array_length(${value}) = ${tests.length}`, ...tests].join(' AND ')
  return `CASE WHEN jsonb_typeof(${value}) = 'array' THEN ${all} ELSE false END`
}
