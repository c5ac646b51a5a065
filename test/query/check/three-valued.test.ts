import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Condition, Constant } from '../../../src/model/plan.ts'
import { runs } from '../../support/scale.ts'
import { entity, where } from './known.ts'

/**
 * An entity whose conditions are unknown for missing values. A record is listed only if its condition is
 * true; missing JSON, however, differs from every value. An evaluator with three values reads the query, and
 * one with two values the plan: they must list the same records.
 */
const small = entity('small', { n: 'integer', t: 'text', b: 'boolean', d: 'date-time', j: 'json' })
const asked = { entity: 'small', entities: new Map([[small.name, small]]) }

type Value = number | string | boolean | null | readonly Value[]
type Row = Readonly<Record<string, Value>>

const days = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
const values: Readonly<Record<string, readonly Value[]>> = {
  n: [null, 1, 2],
  t: [null, 'a', 'b'],
  b: [null, true, false],
  d: [null, ...days],
  j: [null, 1, 2, 'a', 'b', true, [1, 'a'], []],
}

/** Rows with every value of every field, each beside some of the others. */
const rows: readonly Row[] = Object.entries(values).flatMap(([name, all]) =>
  all.flatMap((value, at) =>
    [0, 1, 2].map(shift => ({
      ...Object.fromEntries(
        Object.entries(values).map(([other, list]) => [other, list[(at + shift) % list.length] ?? null]),
      ),
      [name]: value,
    })),
  ),
)

type Truth = true | false | null
type Query = readonly [string, ...unknown[]]

const not = (truth: Truth): Truth => (truth === null ? null : !truth)

function truthOf([operator, ...args]: Query, row: Row): Truth {
  if (operator === 'not') return not(truthOf(args[0] as Query, row))
  if (operator === 'and' || operator === 'or') {
    const truths = args.map(one => truthOf(one as Query, row))
    const decisive = operator === 'or'
    if (truths.includes(decisive)) return decisive
    return truths.includes(null) ? null : !decisive
  }
  if (Array.isArray(args[0])) return truthOfRows(args as [readonly string[], Query], row)
  const value = row[String(args[0])] ?? null
  if (operator === 'null?') return (value === null) === args[1]
  if (operator === '=' && args[1] === null) return value === null
  if (value === null) return operator === '=' || operator === 'in' ? equalToNull(String(args[0])) : null
  const list = operator === 'in' ? ((args[1] as Query)[1] as readonly Value[]) : [args[1] as Value]
  if (operator === '~') return new RegExp(String(args[1])).test(seen(value))
  if (operator === '=' || operator === 'in') return list.some(wanted => isEqual(value, wanted))
  const [wanted] = list
  if (typeof value !== typeof wanted || typeof value === 'object' || wanted === null || wanted === undefined)
    return false
  return (
    { '<': value < wanted, '<=': value <= wanted, '>': value > wanted, '>=': value >= wanted }[operator] ??
    assert.fail()
  )
}

/**
 * The truth of a comparison with a missing value: false for JSON, which equals nothing, otherwise unknown.
 */
const equalToNull = (field: string): Truth => (field === 'j' ? false : null)

function truthOfRows([fields, [, list]]: [readonly string[], Query], row: Row): Truth {
  const own = fields.map(field => row[field] ?? null)
  if (fields.some(field => (row[field] ?? null) === null && equalToNull(field) === null)) return null
  return (list as readonly (readonly Value[])[]).some(one =>
    one.every((value, at) => (own[at] ?? null) !== null && isEqual(own[at] ?? null, value)),
  )
}

/** Returns the text that an expression is applied to. */
const seen = (value: Value) => (typeof value === 'string' ? value : JSON.stringify(value))

const isEqual = (value: Value, wanted: Value) => JSON.stringify(value) === JSON.stringify(wanted)

/** Evaluates a plan as an engine does. */
function isListed(condition: Condition | null, row: Row): boolean {
  if (condition === null) return true
  switch (condition.kind) {
    case 'none':
      return false
    case 'and':
      return condition.of.every(one => isListed(one, row))
    case 'or':
      return condition.of.some(one => isListed(one, row))
    case 'null':
      return (row[condition.field.name] === null) !== condition.negated
    case 'compare':
      return holds(row, condition, value => compares(value, condition.operator, plain(condition.value)))
    case 'in':
      return holds(row, condition, value => condition.values.some(one => isEqual(value, plain(one))))
    case 'matches':
      return holds(row, condition, value => new RegExp(condition.expression).test(seen(value)))
    default:
      return assert.fail(condition.kind)
  }
}

function holds(
  row: Row,
  condition: Extract<Condition, { kind: 'compare' | 'in' | 'matches' }>,
  test: (value: Value) => boolean,
): boolean {
  const { field, negated } = condition
  const value = row[field.name] ?? null
  if (value !== null) return test(value) !== negated
  const isEquality = condition.kind === 'in' || (condition.kind === 'compare' && condition.operator === '=')
  return negated && isEquality && field.type === 'json'
}

function compares(value: Value, operator: string, wanted: Value): boolean {
  if (operator === '=') return isEqual(value, wanted)
  if (typeof value !== typeof wanted || typeof value === 'object' || value === null || wanted === null)
    return false
  if (operator === '<') return value < wanted
  if (operator === '<=') return value <= wanted
  return operator === '>' ? value > wanted : value >= wanted
}

function plain(constant: Constant): Value {
  if (constant.kind === 'number') return Number(constant.text)
  if (constant.kind === 'boolean') return constant.value
  return constant.kind === 'json' ? (JSON.parse(constant.json) as Value) : constant.text
}

function sameRows(query: Query): void {
  const plan = where(query, asked)
  for (const row of rows) {
    const what = `${JSON.stringify(query)} of ${JSON.stringify(row)}`
    assert.equal(isListed(plan, row), truthOf(query, row) === true, what)
  }
}

const leaves: readonly Query[] = [
  ...['=', '<', '<=', '>', '>='].flatMap((operator): Query[] => [
    [operator, 'n', 1],
    [operator, 't', 'a'],
    [operator, 'd', days[0]],
    [operator, 'j', 2],
  ]),
  ['=', 'n', 1.5],
  ['=', 'b', true],
  ['=', 'j', 'a'],
  ['=', 'j', true],
  ['=', 'j', [1, 'a']],
  ['=', 'j', []],
  ['~', 't', '^a'],
  ['~', 'j', '^a'],
  ['~', 'j', '1'],
  ['~', 'j', 't'],
  ...Object.keys(values).flatMap((field): Query[] => [
    ['=', field, null],
    ['null?', field, true],
    ['null?', field, false],
    ['in', field, ['array', []]],
  ]),
  ['in', 'n', ['array', [2, 1]]],
  ['in', 'n', ['array', [2]]],
  ['in', 't', ['array', ['b', 'c']]],
  ['in', 'b', ['array', [true, false]]],
  ['in', 'd', ['array', [...days]]],
  ['in', 'j', ['array', ['a', 2]]],
  [
    'in',
    ['n', 't'],
    [
      'array',
      [
        [1, 'a'],
        [2, 'b'],
      ],
    ],
  ],
  ['in', ['n', 'j'], ['array', [[1, 'a']]]],
  ['in', ['n', 't'], ['array', []]],
]

test('Q20 a comparison with null is unknown, and so is its negation; JSON that is missing differs from every value', () => {
  for (const leaf of leaves) {
    sameRows(leaf)
    sameRows(['not', leaf])
    sameRows(['not', ['not', leaf]])
  }
})

test('Q20 and, or and not have the truth tables of three-valued logic', () => {
  // Each condition is true, false and unknown for some row, whatever the others are.
  const inputs: readonly Query[] = [
    ['=', 'n', 1],
    ['=', 't', 'a'],
    ['<', 'j', 2],
    ['null?', 'd', true],
    ['in', 'n', ['array', []]],
  ]
  for (const one of inputs)
    for (const other of inputs)
      for (const operator of ['and', 'or'])
        for (const [first, second] of [
          [one, other],
          [['not', one], other],
          [one, ['not', other]],
        ] as const) {
          sameRows([operator, first, second])
          sameRows(['not', [operator, first, second]])
        }
})

test('Q20 random conditions list what three-valued logic makes true', () => {
  const { query } = fc.letrec<{ query: Query; leaf: Query }>(tie => ({
    leaf: fc.constantFrom(...leaves),
    query: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      tie('leaf'),
      tie('query').map((one): Query => ['not', one]),
      fc
        .tuple(fc.constantFrom('and', 'or'), fc.array(tie('query'), { minLength: 1, maxLength: 4 }))
        .map(([operator, of]): Query => [operator, ...of]),
    ),
  }))
  fc.assert(fc.property(query, sameRows), runs(1_000, 20_000))
})
