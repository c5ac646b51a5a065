import type { ComputedValue } from './function.ts'

/** The number of elements of an array. */
export const length: ComputedValue<'length'> = {
  gives: 'integer',
  of: (_, value) => (Array.isArray(value) ? String(value.length) : undefined),
  isGradual: () => false,
  postgres: (_, { json }) =>
    `(SELECT CASE WHEN json_typeof(n.v) = 'array' THEN json_array_length(n.v) END FROM (SELECT ${json()} AS v OFFSET 0) AS n)`,
}
