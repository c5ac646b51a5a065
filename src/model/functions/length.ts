import type { ComputedValue, FieldFunction } from './function.ts'

export const length: FieldFunction & ComputedValue<'length'> = {
  kind: 'computed',
  documentation: 'the [number of elements](#lists) of a list',
  types: ['json'],
  inConditions: 'by name',
  plan: () => ({ computed: { kind: 'length' }, type: 'integer' }),
  gives: 'integer',
  of: (_, value) => (Array.isArray(value) ? String(value.length) : undefined),
  isGradual: () => false,
  postgres: (_, { json }) =>
    `(SELECT CASE WHEN json_typeof(n.v) = 'array' THEN json_array_length(n.v) END FROM (SELECT ${json()} AS v OFFSET 0) AS n)`,
}
