import type { Condition, Constant, Leaf, ValueCondition } from '../plan.ts'

/**
 * An operator of conditions on the value of one field (docs/decisions/0088): says how its values are found, whatever engine
 * finds them. It doesn't look at `negated`, which means the same for every condition.
 */
export type ValueOperator<C extends ValueCondition> = <Found>(condition: C, values: Searched<Found>) => Found

/**
 * The ways in which values are found: as ranks of a column, as SQL that is true of them, or as a test of single ones. None
 * of them is null. A list is found by its elements.
 */
export interface Searched<Found> {
  /** The values that equal one of these, which for a list may be the whole value. */
  equal(constants: readonly Constant[]): Found
  ordered(operator: Exclude<Leaf<'compare'>['operator'], '='>, constant: Constant): Found
  /** The values whose text matches an expression. */
  matching(expression: string): Found
  /** The values that pass a test. @param isOfArrays true if only whole arrays can pass it */
  tested(by: Tested, isOfArrays?: boolean): Found
}

/** A test, and the same in SQL. */
interface Tested {
  readonly test: () => Test
  readonly sql: (value: Sql) => string
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

/** Turns conditions into SQL, a task for threads, or a test of rows. `made` turns a nested condition into the same. */
export type Engine<Made> = {
  readonly [K in Exclude<Condition['kind'], ValueCondition['kind']>]: (
    condition: Leaf<K>,
    made: (inside: Condition) => Made,
  ) => Made
} & { readonly value: (condition: ValueCondition) => Made }
