import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindOf } from '../../src/import/types.ts'
import { parseExact } from '../../src/lib/json.ts'
import { instant } from '../../src/lib/sort-keys.ts'

const kinds = (type: string | undefined, ...values: string[]) => {
  for (const value of values) assert.equal(kindOf(parseExact(value)), type, value)
}

test('D2 the kind of a value is what JSON says, and text of RFC 3339 §5.6 is a date-time', () => {
  kinds('integer', '0', '-1', '12345678901234567890', '1.0', '1e3')
  kinds('number', '0.5', '-1e-3', '0.1000000000000000055', '1e-400')
  kinds('boolean', 'true', 'false')
  kinds('json', '[]', '{}', '[1]')
  kinds(undefined, 'null')
  kinds('date-time', '"2020-02-29T23:59:59Z"', '"2020-02-29t23:59:60.5z"', '"2020-02-29 00:00:00-23:59"')
  kinds('date-time', '"0001-01-01T00:00:00.123456789012+14:00"')
  kinds('text', '"2020-02-29"', '"2020-02-29T23:59:59"', '"2020-13-01T00:00:00Z"', '"2020-01-32T00:00:00Z"')
  kinds('text', '"2020-01-01T24:00:00Z"', '"2020-01-01T00:60:00Z"', '"2020-01-01T00:00:00+0100"', '"x"', '""')
  kinds('text', '"2020-01-01T00:00:00.Z"', '" 2020-01-01T00:00:00Z"', '"20200-01-01T00:00:00Z"')
})

test('D2 a day that its month does not have is no date-time (RFC 3339 §5.7)', () => {
  kinds('text', '"2021-02-29T00:00:00Z"', '"2020-02-30T00:00:00Z"', '"2020-04-31T00:00:00Z"')
})

const earlierFirst = [
  '0001-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999Z',
  '1970-01-01T00:00:00Z',
  '1990-12-31T23:59:59.9Z',
  '1990-12-31T15:59:60-08:00',
  '1991-01-01T00:00:00Z',
  '2020-06-30T12:00:00Z',
  '2020-06-30T12:00:00.000000001Z',
  '2020-06-30T12:00:00.1Z',
  '2020-06-30T05:00:00.25-07:00',
  '9999-12-31T23:59:59Z',
]

test('Q6 instants sort by time as text', () => {
  const instants = earlierFirst.map(instant)
  assert.deepEqual(instants.toSorted(), instants)
  assert.equal(new Set(instants).size, instants.length)
})

test('Q6 instants before the year 0 and behind the year 9999 sort by time, too', () => {
  const texts = [
    '0000-01-01T00:00:10+01:00',
    '0000-01-01T00:00:30+01:00',
    ...earlierFirst,
    '9999-12-31T23:59:59-01:00',
  ]
  const instants = texts.map(instant)
  assert.deepEqual(instants.toSorted(), instants)
  assert.equal(new Set(instants).size, instants.length)
})

test('Q6 one instant in several forms is one instant', () => {
  const forms = ['2020-06-30T12:00:00.5Z', '2020-06-30t14:00:00.500+02:00', '2020-06-30 04:30:00.5-07:30']
  assert.equal(new Set(forms.map(instant)).size, 1)
  assert.equal(instant('2020-06-30T12:00:00Z'), instant('2020-06-30T12:00:00.000-00:00'))
})
