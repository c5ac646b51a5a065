import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Bound,
  type Comparison,
  instantBound,
  integerBound,
  numericBound,
  textBound,
} from '../../../src/storage/tables/bounds.ts'
import { compareCodePoints } from '../../support/data/oracle.ts'

const comparisons = ['=', '<>', '<', '<=', '>', '>='] as const satisfies readonly Comparison[]

const holds = (sign: number, comparison: Comparison) =>
  ({ '=': sign === 0, '<>': sign !== 0, '<': sign < 0, '<=': sign <= 0, '>': sign > 0, '>=': sign >= 0 })[
    comparison
  ]

/** True if a value is found by the bound. */
const finds = (bound: Bound, compare: (value: string) => number) =>
  bound === 'all' || (bound !== 'none' && holds(compare(bound.value), bound.comparison))

test('Q20 a whole number compares with every number as its value does', () => {
  const values = [-(2n ** 63n), -(2n ** 53n), -3n, -2n, -1n, 0n, 1n, 2n, 3n, 2n ** 53n + 1n, 2n ** 63n - 1n]
  const constants: readonly (readonly [text: string, halves: bigint])[] = [
    ...values.flatMap(value => [
      [`${value}`, 2n * value] as const,
      [`${value}.0`, 2n * value] as const,
      [
        `${value < 0n ? '-' : ''}${value < 0n ? -value : value}.5`,
        value < 0n ? 2n * value - 1n : 2n * value + 1n,
      ] as const,
    ]),
    ['9223372036854775808', 2n ** 64n],
    ['-9223372036854775809', -(2n ** 64n) - 2n],
    ['0.5e1', 10n],
    ['25e-1', 5n],
    ['-0', 0n],
    ['1e1000000000', 2n ** 70n],
    ['-1e1000000000', -(2n ** 70n)],
    ['1e-1000000000', 1n],
    ['-1e-1000000000', -1n],
  ]
  for (const [text, halves] of constants)
    for (const value of values)
      for (const comparison of comparisons) {
        const expected = holds(2n * value < halves ? -1 : 2n * value > halves ? 1 : 0, comparison)
        const found = finds(integerBound(comparison, text), one =>
          value < BigInt(one) ? -1 : value > BigInt(one) ? 1 : 0,
        )
        assert.equal(found, expected, `${value} ${comparison} ${text}`)
      }
})

test('Q20 a text compares by code point with texts that no store holds', () => {
  const values = ['', 'a', 'a\u0001', 'ab', 'a\ud7ff', 'a\ue000', 'a\uffff', 'a\u{10000}', 'b']
  for (const constant of [
    ...values,
    'a\0',
    'a\0b',
    '\0',
    'a\ud800',
    'a\udfffx',
    '\udc00',
    'a\ud800\0',
    'a\0\ud800',
  ])
    for (const value of values)
      for (const comparison of comparisons) {
        const expected = holds(compareCodePoints(value, constant), comparison)
        for (const hasNul of [true, false]) {
          const found = finds(textBound(comparison, constant, hasNul), one => {
            assert.ok(one.isWellFormed() && (hasNul || !one.includes('\0')))
            return compareCodePoints(value, one)
          })
          assert.equal(found, expected, JSON.stringify([value, comparison, constant]))
        }
      }
})

test('Q20 an instant compares with one of more digits, and with a leap second', () => {
  const values = [
    '2016-12-31T23:59:59.000Z',
    '2016-12-31T23:59:59.500Z',
    '2016-12-31T23:59:59.999Z',
    '2017-01-01T00:00:00.000Z',
  ]
  for (const [constant, place] of [
    ['2016-12-31T23:59:59Z', 0],
    ['2016-12-31T23:59:59.0000001Z', 0.5],
    ['2016-12-31T23:59:59.5Z', 1],
    ['2016-12-31T23:59:59.50000Z', 1],
    ['2016-12-31T23:59:59.9999Z', 2.5],
    ['2016-12-31T23:59:60.5Z', 2.5],
    ['2017-01-01T00:00:00Z', 3],
    ['+12017-01-01T00:00:00Z', 9],
    ['-0001-01-01T00:00:00Z', -1],
  ] as const)
    for (const [n, value] of values.entries())
      for (const comparison of comparisons) {
        const found = finds(instantBound(comparison, constant, 3), one => compareCodePoints(value, one))
        assert.equal(found, holds(n - place, comparison), `${value} ${comparison} ${constant}`)
      }
})

test('Q20 a number that PostgreSQL has no room for is cut, or is beyond all numbers', () => {
  const long = `0.${'1'.repeat(20_000)}`
  assert.equal(numericBound('=', long), 'none')
  assert.equal(numericBound('<>', long), 'all')
  for (const [comparison, text, operator] of [
    ['<', long, '<='],
    ['>=', long, '>'],
    ['<', `-${long}`, '<'],
    ['>', `-${long}`, '>='],
  ] as const) {
    const bound = numericBound(comparison, text)
    assert.ok(typeof bound !== 'string' && bound.comparison === operator && bound.value.length < 17_000, text)
  }
  assert.deepEqual(numericBound('<', '1e999999'), { comparison: '<', value: 'Infinity' })
  assert.deepEqual(numericBound('>=', '-1e999999'), { comparison: '>', value: '-Infinity' })
  assert.deepEqual(numericBound('>', '1e-999999'), { comparison: '>', value: '0' })
  assert.deepEqual(numericBound('=', '1.50'), { comparison: '=', value: '15e-1' })
})
