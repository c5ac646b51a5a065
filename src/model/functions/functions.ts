import type { Computed } from '../plan.ts'
import { interval, period } from './bucket.ts'
import type { ComputedValue } from './function.ts'
import { length } from './length.ts'
import { toText } from './to-string.ts'

/** What is computed of one value, by its kind in plans. */
const computedValues: { readonly [K in Computed['kind']]: ComputedValue<K> } = {
  interval,
  period,
  length,
  to_string: toText,
}

export const computedValue = ({ kind }: Computed): ComputedValue => computedValues[kind] as ComputedValue

/** Returns a function that computes the JSON of a value; undefined if there is none. */
export function computing(computed: Computed): (value: unknown) => string | undefined {
  const { gives, of } = computedValue(computed)
  if (gives === 'integer' || gives === 'number') return value => of(computed, value)
  return value => {
    const text = of(computed, value)
    return text === undefined ? undefined : JSON.stringify(text)
  }
}
