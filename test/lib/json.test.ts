import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exactText, parseExact } from '../../src/lib/json.ts'
import { runs } from '../support/scale.ts'

const again = (json: string) => JSON.stringify(parseExact(json))

test('Q1 numbers that a double can not hold are printed as they were written', () => {
  for (const number of [
    ...[
      '9007199254740993',
      '-9007199254740993',
      '12345678901234567890',
      '0.1000000000000000055511151231257827',
    ],
    ...['1e400', '-1e400', '1E+400', '1e-400', '123456789.123456789123456789', '3.141592653589793238462643'],
  ]) {
    assert.equal(again(number), number)
    assert.equal(again(`{"a":[${number}]}`), `{"a":[${number}]}`)
    assert.equal(exactText(parseExact(number)), number)
  }
})

test('Q1 numbers that a double holds are numbers', () => {
  for (const [number, value] of [
    ['1', 1],
    ['1.50', 1.5],
    ['1e3', 1000],
    ['1.5E-3', 0.0015],
    ['9007199254740992', 2 ** 53],
    ['100000000000000000000', 1e20],
    ['0.1', 0.1],
    ['5e-324', 5e-324],
    ['0.00000000000000000', 0],
    ['1.00000000000000000000', 1],
  ] as const) {
    assert.equal(parseExact(number), value)
    assert.equal(exactText(parseExact(number)), undefined)
  }
})

test('Q1 digits in strings and names stay what they are', () => {
  const json = '{"12345678901234567890":"12345678901234567890","a":"1e400","__proto__":12345678901234567890}'
  assert.equal(again(json), json)
})

test('Q1 any JSON is read as the platform reads it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), value => {
      const json = JSON.stringify(value)
      assert.equal(again(json), JSON.stringify(JSON.parse(json)))
    }),
    runs(300, 3_000),
  )
})

test('D2 what is no JSON is an error', () => {
  for (const text of ['', '01', '1.', '.5', '+1', '0x10', '12345678901234567890x', '{"a":1,}', 'NaN'])
    assert.throws(() => parseExact(text), SyntaxError)
})
