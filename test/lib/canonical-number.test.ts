import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalNumber } from '../../src/lib/decimals.ts'

const long = '12345678901234567890123'

test('Q20 equal numbers have one text, and no digit of them is lost', () => {
  const same: Readonly<Record<string, readonly string[]>> = {
    '0': ['0', '-0', '0.000', '0e99', '-0.0E-5'],
    '1': ['1', '1.0', '1e0', '10e-1', '0.1E1', '1.000e+0'],
    '-1500': ['-1500', '-1.5e3', '-1500.00'],
    '0.000001': ['0.000001', '1e-6'],
    '1e-7': ['0.0000001', '1E-7', '0.1e-6'],
    '1e+21': ['1e21', '1000000000000000000000'],
    '100000000000000000000': ['1e20'],
    [long]: [long, `${long}.0`, `${long.slice(0, 1)}.${long.slice(1)}e22`],
    '0.1000000000000000055': ['0.1000000000000000055', '1000000000000000055e-19'],
    [`1${'0'.repeat(399)}`]: ['1e399'],
    [`0.${'0'.repeat(398)}1`]: ['1e-399'],
  }
  for (const [text, numbers] of Object.entries(same))
    for (const number of numbers) assert.equal(canonicalNumber(number), text, number)
})

test('Q20 a number that no database takes has no text', () => {
  for (const number of [
    '1e1001',
    '1e-1002',
    '1e999999999999999999999',
    '9'.repeat(1_001),
    `0.${'0'.repeat(2_000)}1`,
  ])
    assert.equal(canonicalNumber(number), undefined, number.slice(0, 20))
})

test('Q20 every double has the text that JavaScript prints', () => {
  for (const number of [5e-324, 1.7976931348623157e308, 0.1, 123456.789, 2 ** 53, 1 / 3])
    assert.equal(canonicalNumber(String(number)), String(number))
})
