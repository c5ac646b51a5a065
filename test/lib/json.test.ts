import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exactText, numberWritten, parseExact, parseWritten } from '../../src/lib/json.ts'
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

/** Numbers as a source may write them, each with its value as JavaScript prints it. */
const written = [
  ...[
    ['1.10', '1.1'],
    ['1.0', '1'],
    ['1e3', '1000'],
    ['1E+05', '100000'],
    ['-0', '0'],
    ['-0.0', '0'],
  ],
  ...[
    ['0.0000001', '1e-7'],
    ['-0.00000010', '-1e-7'],
    ['9007199254740993', '9007199254740993'],
    ['0.10', '0.1'],
  ],
  ...[
    ['1e999999', '1e999999'],
    ['100000000000000000000000', '1e+23'],
    ['1e21', '1e+21'],
    ['10', '10'],
    ['0', '0'],
  ],
  ...[
    ['1000000000000000.50', '1000000000000000.5'],
    ['1.5', '1.5'],
    ['-7', '-7'],
    ['0.000001', '0.000001'],
  ],
] as const

test('Q28 numbers keep their text where they are printed, and are one value where they are compared', () => {
  for (const [text, plain] of written) {
    assert.equal(JSON.stringify(numberWritten(text)), text)
    for (const [before, behind] of [
      ['', ''],
      ['[', ']'],
      ['{"a":1,"__proto__":{"b":[true,', ',"x"]},"c":null}'],
      ['[ 2, ', ' ,3.5]'],
      // Texts that contain numbers, and texts with the mark that is put on numbers.
      ['["a, 1.10, b",', ']'],
      ['["\u00911.10","\\u00911.10",', ']'],
      ['{"x 1.10 ":{"1e3":', '}}'],
    ] as const) {
      const json = `${before}${text}${behind}`
      const printed = (number: string) =>
        JSON.stringify(JSON.parse(`${before}0${behind}`)).replace(/(?<!\d)0(?=[,\]}]|$)/, number)
      assert.equal(JSON.stringify(parseWritten(json)), printed(text), json)
      assert.equal(again(json), printed(plain), json)
    }
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
      assert.equal(JSON.stringify(parseWritten(json)), json)
    }),
    runs(300, 3_000),
  )
})

test('D2 what is no JSON is an error', () => {
  for (const text of [
    '',
    '01',
    '1.',
    '.5',
    '+1',
    '0x10',
    '12345678901234567890x',
    '01.10',
    '[1.10',
    '1.10e',
    '[1.10.0]',
    '{1.10:1}',
    '{ 1.10 \n: 1}',
    '{"a":1,}',
    'NaN',
  ])
    for (const parse of [parseExact, parseWritten]) assert.throws(() => parse(text), SyntaxError)
})
