import type { Constant, ValueCondition } from '../plan.ts'
import type { ValueOrder } from '../value-order.ts'

/**
 * All there is to know about a condition on the value of one field (docs/decisions/0088). Nothing here looks at
 * `negated`, which means the same for every condition.
 */
export interface ValueOperator<C extends ValueCondition> {
  /** The constants of which the value equals one, if this is what the condition says. */
  equals?(condition: C): readonly Constant[] | undefined
  /** Tests single values, which are not null. */
  test(condition: C, values: Values): Test
}

/** The values that a condition tests. */
interface Values {
  readonly isJson: boolean
  readonly order: ValueOrder
}

export type Test = (value: unknown) => boolean
