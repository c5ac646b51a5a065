import fc from 'fast-check'
import type { Aggregate, Condition, Constant, FieldRef, Plan, Rows, Scalar } from '../../../src/model/plan.ts'

/** A small entity with a field of every type, nulls in all but the key. */
const words = ['', 'a', 'A', 'ab', 'b', 'ä', 'é', 'Z', 'a b', '\u{10000}', '\uffff', '"', '\\', '5', 'true']
const times = [
  '2020-06-30T12:00:00Z',
  '2020-06-30T14:00:00+02:00',
  '2020-06-30T12:00:00.5Z',
  '2019-01-01T00:00:00Z',
  '2021-12-31T23:59:59Z',
]
const nested = [
  ...[[], ['a'], ['a', 'b'], [1, 'a'], [5], [['a']], {}, { a: 1 }, { a: 'x', b: [1, 2] }, { a: { c: 'a' } }],
  ...[
    { b: null, a: 2.5 },
    { a: [5, 'b'] },
    { b: 1, a: true },
    { a: true, b: 1 },
    [null, 'b'],
    { a: { c: 7 } },
  ],
]
const scalars = [0, 1, 2.5, -3, 5, 1e300, 'a', 'ab', '1', '', true, false]

const orNull = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) })

export const plainRecord = fc.record({
  word: orNull(fc.constantFrom(...words)),
  size: orNull(fc.integer({ min: -3, max: 6 })),
  weight: orNull(fc.constantFrom(-1.5, 0, 0.25, 2, 2.5, 5, 1e21)),
  open: orNull(fc.boolean()),
  at: orNull(fc.constantFrom(...times)),
  facts: orNull(fc.oneof(fc.constantFrom(...nested), fc.constantFrom(...scalars))),
})

export const field = (
  name: string,
  type: FieldRef['type'],
  ...path: readonly (string | number)[]
): FieldRef => ({
  name,
  path,
  type,
})

const fields: readonly FieldRef[] = [
  field('id', 'integer'),
  field('word', 'text'),
  field('size', 'integer'),
  field('weight', 'number'),
  field('open', 'boolean'),
  field('at', 'date-time'),
  field('facts', 'json'),
  field('facts', 'json', 'a'),
  field('facts', 'json', 'b'),
  field('facts', 'json', 'a', 'c'),
  field('facts', 'json', 0),
  field('facts', 'json', 'b', 1),
]

/** What stands for a value in a plan. */
export const constantOf = (value: unknown, type: FieldRef['type']): Constant => {
  if (type === 'date-time')
    return { kind: 'instant', text: new Date(String(value)).toISOString().replace(/\.?0*Z$/, 'Z') }
  if (typeof value === 'string') return { kind: 'text', text: value }
  if (typeof value === 'number') return { kind: 'number', text: JSON.stringify(value) }
  return typeof value === 'boolean'
    ? { kind: 'boolean', value }
    : { kind: 'json', json: JSON.stringify(value) }
}

const valueFor = (type: FieldRef['type']): fc.Arbitrary<unknown> => {
  if (type === 'text') return fc.constantFrom(...words, 'c', 'aa')
  if (type === 'integer') return fc.integer({ min: -4, max: 60 })
  if (type === 'number') return fc.constantFrom(-1.5, -1, 0, 0.25, 2, 3, 5, 1e21, 1e22)
  if (type === 'boolean') return fc.boolean()
  if (type === 'date-time') return fc.constantFrom(...times, '2020-06-30T12:00:00.25Z')
  return fc.oneof(fc.constantFrom(...scalars, 7), fc.constantFrom(...nested))
}

const expressions = ['a', '^a', 'b$', '^$', '[äé]', '^.$', 'A|Z', '^(a|5)', '"', '\\\\']

const leaf: fc.Arbitrary<Condition> = fc
  .record({ field: fc.constantFrom(...fields), negated: fc.boolean() })
  .chain(({ field, negated }): fc.Arbitrary<Condition> => {
    const { type } = field
    const constant = valueFor(type).map(value => constantOf(value, type))
    const operators = type === 'boolean' ? (['='] as const) : (['=', '<', '<=', '>', '>='] as const)
    const compare = fc.record({
      kind: fc.constant('compare' as const),
      field: fc.constant(field),
      operator: fc.constantFrom(...operators),
      value: constant,
      negated: fc.constant(negated),
    })
    const among = fc
      .uniqueArray(constant, { minLength: 1, maxLength: 4, selector: one => JSON.stringify(one) })
      .map(values => ({ kind: 'in' as const, field, values, negated }))
    const isNull = fc.constant({ kind: 'null' as const, field, negated })
    if (type !== 'text' && type !== 'json') return fc.oneof(compare, among, isNull)
    const matching = fc
      .constantFrom(...expressions)
      .map(expression => ({ kind: 'matches' as const, field, expression, negated }))
    if (type === 'text') return fc.oneof(compare, among, isNull, matching)
    const path = fc
      .array(fc.constantFrom('a', '.', '^b$', 5, 1), { minLength: 1, maxLength: 2 })
      .map(elements => ({ kind: 'path matches' as const, field, elements, negated }))
    return fc.oneof(compare, compare, among, isNull, matching, path)
  })

export const condition: fc.Arbitrary<Condition> = fc.letrec<{ tree: Condition }>(tie => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      of: fc.array(tie('tree'), { minLength: 1, maxLength: 4 }),
    }),
  ),
})).tree

const scalar: fc.Arbitrary<Scalar> = fc.constantFrom(...fields).map(field => ({ kind: 'field', field }))

const aggregate: fc.Arbitrary<Aggregate> = fc.oneof(
  fc.constant({ kind: 'aggregate' as const, name: 'count' as const, field: null }),
  fc.record({
    kind: fc.constant('aggregate' as const),
    name: fc.constantFrom('count' as const, 'count_distinct' as const),
    field: fc.constantFrom(...fields),
  }),
  fc.record({
    kind: fc.constant('aggregate' as const),
    name: fc.constantFrom('min' as const, 'max' as const),
    field: fc.constantFrom(...fields.filter(({ type }) => type !== 'boolean')),
  }),
  fc.record({
    kind: fc.constant('aggregate' as const),
    name: fc.constantFrom('sum' as const, 'avg' as const),
    field: fc.constantFrom(...fields.filter(({ type }) => ['integer', 'json'].includes(type))),
  }),
)

const typeOf = (value: Scalar | Aggregate): FieldRef['type'] => {
  if (value.kind !== 'aggregate') return 'field' in value ? value.field.type : 'text'
  if (value.name === 'min' || value.name === 'max') return value.field?.type ?? 'text'
  return value.name === 'sum' || value.name === 'avg' ? 'number' : 'integer'
}

const columnsOf = (values: readonly (Scalar | Aggregate)[]) =>
  values.map((value, at) => ({ name: `c${at}`, value, type: typeOf(value) }))

const orderOf = (columns: number) =>
  fc
    .uniqueArray(fc.record({ by: fc.nat({ max: columns - 1 }), descending: fc.boolean() }), {
      maxLength: 2,
      selector: ({ by }) => by,
    })
    .map(order => order as Rows['order'])

/** Rows that show a record each. */
export const plainRows: fc.Arbitrary<Rows> = fc.array(scalar, { minLength: 1, maxLength: 3 }).chain(values =>
  fc.record({
    kind: fc.constant('rows' as const),
    columns: fc.constant(columnsOf(values)),
    groups: fc.constant(null),
    having: fc.constant(null),
    distinct: fc.boolean(),
    order: orderOf(values.length),
  }),
)

/** Rows of groups, or of all records. */
export const groupedRows: fc.Arbitrary<Rows> = fc
  .record({
    groups: fc.option(fc.array(scalar, { minLength: 1, maxLength: 3 })),
    aggregates: fc.array(aggregate, { minLength: 1, maxLength: 3 }),
    shown: fc.nat({ max: 3 }),
    having: fc.option(fc.integer({ min: 0, max: 5 })),
    distinct: fc.boolean(),
  })
  .chain(({ groups, aggregates, shown, having, distinct }) => {
    const columns = columnsOf([...(groups ?? []).slice(0, shown), ...aggregates])
    const least = columns.findIndex(({ type }) => type === 'integer')
    const condition: Condition | null =
      having === null || least < 0
        ? null
        : {
            kind: 'compare',
            field: field(`c${least}`, 'integer'),
            operator: '>=',
            value: constantOf(having, 'integer'),
            negated: false,
          }
    return fc.record({
      kind: fc.constant('rows' as const),
      columns: fc.constant(columns),
      groups: fc.constant(groups),
      having: fc.constant(condition),
      distinct: fc.constant(distinct),
      order: orderOf(columns.length),
    })
  })

/** Pairs of an inner and an outer field whose values can be equal. */
const pairs = [
  ...[
    [field('word', 'text'), field('word', 'text')],
    [field('size', 'integer'), field('size', 'integer')],
    [field('id', 'integer'), field('size', 'integer')],
    [field('size', 'integer'), field('weight', 'number')],
    [field('weight', 'number'), field('id', 'integer')],
    [field('at', 'date-time'), field('at', 'date-time')],
    [field('open', 'boolean'), field('open', 'boolean')],
  ],
  ...[
    [field('facts', 'json'), field('facts', 'json')],
    [field('facts', 'json', 'a'), field('facts', 'json')],
    [field('facts', 'json'), field('facts', 'json', 'b')],
    [field('word', 'text'), field('facts', 'json')],
    [field('size', 'integer'), field('facts', 'json', 'a')],
    [field('open', 'boolean'), field('facts', 'json')],
  ],
] as const

/** A condition on the rows of another plan. */
export const inPlan = (entity: Plan['entity']): fc.Arbitrary<Condition> =>
  fc
    .record({
      pairs: fc.uniqueArray(fc.constantFrom(...pairs), { minLength: 1, maxLength: 3 }),
      where: fc.option(condition),
      negated: fc.boolean(),
      distinct: fc.boolean(),
      offset: fc.constantFrom(0, 0, 2),
      limit: fc.constantFrom(null, null, 1, 4, 20),
      descending: fc.boolean(),
    })
    .map(({ pairs, where, negated, distinct, offset, limit, descending }) => ({
      kind: 'in plan',
      fields: pairs.map(([, outer]) => outer),
      negated,
      plan: {
        entity,
        where,
        page: { order: [], offset, limit, total: false },
        shape: {
          kind: 'rows',
          columns: columnsOf(pairs.map(([field]) => ({ kind: 'field', field }))),
          groups: null,
          having: null,
          distinct,
          order: limit === null ? [] : [{ by: 0, descending }],
        },
      },
    }))
