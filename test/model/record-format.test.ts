import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Field } from '../../src/model/entities.ts'
import { csvHeader, csvLines } from '../../src/model/record-format.ts'

const fields = (...names: string[]): Field[] => names.map(name => ({ name, type: 'json', nullable: true }))
const lines = (json: string, ...names: string[]) => Buffer.from(csvLines(json, fields(...names))).toString()

test('Q8 a CSV line has a cell for each field, in the order of the fields', () => {
  assert.equal(lines('{"b":2,"a":1},{"a":3}', 'a', 'b'), '1,2\r\n3,')
  assert.equal(lines('', 'a'), '')
})

test('Q8 a cell is quoted where RFC 4180 §2 asks for it, and an empty text to tell it from null', () => {
  for (const [value, cell] of [
    ['"plain text"', 'plain text'],
    ['" spaces "', ' spaces '],
    ['"a,b"', '"a,b"'],
    ['"a\\"b"', '"a""b"'],
    ['"a\\nb"', '"a\nb"'],
    ['"a\\rb"', '"a\rb"'],
    ['""', '""'],
    ['null', ''],
    ['true', 'true'],
    ['-0.5', '-0.5'],
    ['12345678901234567890', '12345678901234567890'],
    ['[1,2]', '"[1,2]"'],
    ['{"x":"\\""}', '"{""x"":""\\""""}"'],
    ['{}', '{}'],
  ])
    assert.equal(lines(`{"a":${value}}`, 'a'), cell)
})

test('Q8 the header quotes names like cells', () => {
  assert.equal(csvHeader(fields('a', 'b,c', 'd"e', '', 'f\n')), 'a,"b,c","d""e","","f\n"')
})

test('Q8 a field that every object of JavaScript has is empty where the record lacks it', () => {
  assert.equal(lines('{"a":1}', 'a', '__proto__', 'constructor', 'toString', 'a'), '1,,,,1')
  assert.equal(lines('{"__proto__":1,"constructor":"x"}', '__proto__', 'constructor'), '1,x')
})
