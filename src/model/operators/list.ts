import type { FieldType } from '../entities.ts'
import { type Condition, type Constant, differsIfMissing, type Leaf, type ValueCondition } from '../plan.ts'
import type { Engine, Searched, Test, ValueOperator } from './operator.ts'
import { pathMatches } from './path-matches.ts'
import { testsOf } from './tests.ts'

/** The operators of conditions on values, by the kinds of their conditions. */
const operators: { readonly [K in ValueCondition['kind']]: ValueOperator<Leaf<K>> } = {
  compare: ({ operator, value }, values) =>
    operator === '=' ? values.equal([value]) : values.ordered(operator, value),
  in: ({ values }, searched) => searched.equal(values),
  matches: ({ expression }, values) => values.matching(expression),
  'path matches': pathMatches,
}

const isOnValue = (condition: Condition): condition is ValueCondition => condition.kind in operators

/** Lets an engine make something of a condition, and of those inside it. */
export function madeBy<Made>(engine: Engine<Made>, condition: Condition): Made {
  if (isOnValue(condition)) return engine.value(condition)
  const make = engine[condition.kind] as (one: Condition, made: (inside: Condition) => Made) => Made
  return make(condition, inside => madeBy(engine, inside))
}

/** Finds the values for which a condition is true, with `negated` left out. */
export const foundIn = <Found>(values: Searched<Found>, condition: ValueCondition): Found =>
  (operators[condition.kind] as ValueOperator<ValueCondition>)(condition, values)

const unknown = () => undefined
const equal: Searched<readonly Constant[] | undefined> = {
  equal: constants => constants,
  ordered: unknown,
  matching: unknown,
  tested: unknown,
}

/** @returns undefined unless the condition is that a value equals one of some constants */
export function equality(condition: Condition): Pick<Leaf<'in'>, 'field' | 'values' | 'negated'> | undefined {
  const values = isOnValue(condition) ? foundIn(equal, condition) : undefined
  return values && { ...(condition as ValueCondition), values }
}

/** The constants that a condition looks up in a column; undefined if all values have to be at hand. */
export const soughtIn = (condition: ValueCondition) =>
  foundIn({ ...equal, ordered: (_, constant) => [constant] }, condition)

/** True if a condition holds for a record without a value. */
export const holdsIfMissing = (condition: ValueCondition): boolean =>
  condition.negated && differsIfMissing(condition.field) && equality(condition) !== undefined

/**
 * Returns the condition as a test of a value that is not null, with `negated` left out.
 * @param collation of the field that the value comes from
 */
export const testOf = (condition: ValueCondition, type: FieldType, collation?: string): Test =>
  foundIn(testsOf(condition.field, type, collation), condition)
