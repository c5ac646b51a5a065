import type { Condition, Constant, Leaf, ValueCondition } from '../plan.ts'
import type { ValueOrder } from '../value-order.ts'

/**
 * All there is to know about a condition on the value of one field (docs/decisions/0088). Nothing here looks at
 * `negated`, which means the same for every condition.
 */
export interface ValueOperator<C extends ValueCondition> {
  /** Tests single values, which are not null. @param order of them */
  test(condition: C, isJson: boolean, order: ValueOrder): Test
  /** Finds the values for which the condition is true. */
  find<Found>(condition: C, values: Searched<Found>): Found
}

/**
 * The ways in which an engine finds values: the ranks of a column, or SQL that is true of them. Of lists, all but
 * `tested` find those with such an element.
 */
export interface Searched<Found> {
  /** The values that equal one of these, which for a list may be the whole value. */
  equal(constants: readonly Constant[]): Found
  ordered(operator: Exclude<Leaf<'compare'>['operator'], '='>, constant: Constant): Found
  /** The values whose text matches an expression. */
  matching(expression: string): Found
  /**
   * The values that pass the test of the operator.
   * @param sql writes that test in SQL, where SQL isn't given the test itself
   * @param isOfArrays true if only arrays pass; otherwise it is an element of a list that has to
   */
  tested(sql: (value: Sql) => string, isOfArrays?: boolean): Found
}

/** A value in a statement, which is not null. JSON is PostgreSQL's `jsonb`. */
export interface Sql {
  readonly value: string
  readonly isJson: boolean
  bind(text: string): string
  /** The condition that the text of a value matches an expression. */
  matches(value: string, expression: string): string
}

export type Test = (value: unknown) => boolean

/**
 * What is made of conditions: SQL, a task for threads, or a test of rows. `made` makes the same of a condition inside of
 * another one.
 */
export type Engine<Made> = {
  readonly [K in Exclude<Condition['kind'], ValueCondition['kind']>]: (
    condition: Leaf<K>,
    made: (inside: Condition) => Made,
  ) => Made
} & { readonly value: (condition: ValueCondition) => Made }
