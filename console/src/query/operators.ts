import { functions } from '../../../src/model/functions/functions.ts'
import type { EntityField } from '../entities.ts'

/** The operators that the form of a filter offers. */
export type Operator =
  | 'equal'
  | 'unequal'
  | 'less'
  | 'at-most'
  | 'more'
  | 'at-least'
  | 'contains'
  | 'begins'
  | 'words'
  | 'one-of'
  | 'null'
  | 'not-null'

export const signs = {
  equal: '=',
  unequal: '!=',
  less: '<',
  'at-most': '<=',
  more: '>',
  'at-least': '>=',
} as const
/** The operators by their signs in PQL. */
export const compared = Object.fromEntries(
  Object.entries(signs).map(([name, sign]) => [sign, name]),
) as Record<string, Operator>

export const operatorsFor = (type: EntityField['type']): readonly Operator[] => {
  const nulls = ['null', 'not-null'] as const
  if (type === 'boolean') return ['equal', ...nulls]
  if (type === 'text')
    return ['equal', 'unequal', 'one-of', 'contains', 'begins', 'words', 'less', 'more', ...nulls]
  if (type === 'json')
    return ['equal', 'one-of', 'contains', 'begins', 'words', 'less', 'at-most', 'more', 'at-least', ...nulls]
  return ['equal', 'unequal', 'one-of', 'less', 'at-most', 'more', 'at-least', ...nulls]
}

/** The operators that are suggested behind a field in PQL. */
export const operatorsOf = (type: EntityField['type'] | undefined): readonly string[] =>
  type === 'boolean'
    ? ['=', 'in [', 'is null', 'is not null']
    : type === 'text'
      ? ['=', '!=', '~', 'match', 'in [', '<', '<=', '>', '>=', '!~', 'is null', 'is not null']
      : type === 'json'
        ? ['=', '~', '<', '<=', '>', '>=', '~>', 'match', 'in [', 'is null', 'is not null']
        : ['=', '!=', '<', '<=', '>', '>=', 'in [', 'is null', 'is not null']

/** The operators that join conditions in an AST, and those that compare a field. */
export const joining: ReadonlySet<string> = new Set(['and', 'or', 'not'])
export const comparing: ReadonlySet<string> = new Set([
  '=',
  '~',
  '~>',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  'match',
  'null?',
])
/** Operators of forms of PuppetDB that stand in place of a field. */
export const puppets: ReadonlySet<string> = new Set(['fact', 'parameter', 'node', 'function'])
/** Operators whose value may have another type than the field. */
export const lenient: ReadonlySet<string> = new Set(['~', '~>', 'match', 'null?'])

/** Functions of the values that a field has in a group. */
export const aggregates = ['count_distinct', 'sum', 'avg', 'min', 'max'] as const
export type Aggregate = (typeof aggregates)[number]
export const isAggregate = (name: string): name is Aggregate => aggregates.some(one => one === name)

/** The functions that are suggested among columns: all but buckets, which are written behind their field. */
export const suggested: readonly string[] = [...functions].flatMap(([name, of]) =>
  of.kind === 'computed' && of.inConditions === 'by' ? [] : of.field ? `${name}()` : `${name}(`,
)

/** Units of time with their masks for `to_string`; those without a mask are buckets. */
export const units = {
  year: 'YYYY',
  quarter: null,
  month: 'YYYY-MM',
  week: null,
  day: 'YYYY-MM-DD',
  weekday: 'ID',
  hour: 'HH24',
} as const
export type Unit = keyof typeof units

/** The words that clauses begin with, and those of clauses that only columns can have. */
export const clauses: readonly string[] = ['group by', 'having', 'order by', 'limit', 'offset']
export const grouping: ReadonlySet<string> = new Set(['group by', 'having', 'with empty'])
