import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadItem } from '../../../src/items/ingest/item.ts'
import { parseDay, parseReaders } from '../../../src/items/ingest/readers.ts'
import type { Readers } from '../../../src/model/readers.ts'

const groups = new Set(['Campus', 'My Group', 'a from b', "Ruth's", 'until:dawn'])

test('a rule is a reader, with its first and last day in either order', () => {
  for (const [lines, expected] of [
    [['anonymous'], [{ reader: 'anonymous' }]],
    [['eperson'], [{ reader: 'eperson' }]],
    [['admin'], []],
    [['group:Campus'], [{ reader: 'group:Campus' }]],
    [['group:My Group'], [{ reader: 'group:My Group' }]],
    [['group:a from b from:2027-01-01'], [{ reader: 'group:a from b', from: '2027-01-01' }]],
    [['group:until:dawn'], [{ reader: 'group:until:dawn' }]],
    [['  eperson\tfrom:2027-01-01  '], [{ reader: 'eperson', from: '2027-01-01' }]],
    [['eperson until:2028-02-29'], [{ reader: 'eperson', until: '2028-02-29' }]],
    [
      ['anonymous\tuntil:2027-12-31\tfrom:2027-01-01'],
      [{ reader: 'anonymous', from: '2027-01-01', until: '2027-12-31' }],
    ],
    [
      ['admin', 'eperson', 'anonymous from:2030-01-01'],
      [{ reader: 'eperson' }, { reader: 'anonymous', from: '2030-01-01' }],
    ],
    [
      ['eperson from:2027-01-01 until:2027-01-01'],
      [{ reader: 'eperson', from: '2027-01-01', until: '2027-01-01' }],
    ],
  ] as [string[], Readers][])
    assert.deepEqual(parseReaders(lines, groups), expected, lines.join(' and '))
})

test('a rule may be for one eperson only where it is looked up', () => {
  const parsed = parseReaders(['eperson:eva@example.org\tuntil:2027-12-31', 'eperson'], groups, true)
  assert.deepEqual(parsed, [
    { reader: 'eperson:eva@example.org', until: '2027-12-31' },
    { reader: 'eperson' },
  ])
  for (const line of ['eperson:eva@example.org max', 'eperson:'])
    assert.throws(() => parseReaders([line], groups, true), /is not a rule/, line)
  assert.throws(
    () => parseReaders(['eperson:eva@example.org'], groups),
    /for one eperson, and what is ingested/,
  )
})

test('what is not understood is never ignored', () => {
  for (const [line, message] of [
    ['', /is not a rule/],
    ['Anonymous', /is not a rule/],
    ['anonymous eperson', /is not a rule/],
    ['eperson,group:Campus', /is not a rule/],
    ['group:', /is not a rule/],
    ['Campus', /is not a rule/],
    ['anonymous from', /is not a rule/],
    ['anonymous from: 2027-01-01', /is not a rule|is not a date/],
    ['anonymous since:2027-01-01', /is not a rule/],
    ['from:2027-01-01', /is not a rule/],
    ['group:campus', /there is no group "campus"; add it with `carrel group add campus`/],
    ['group:Their Group', /`carrel group add 'Their Group'`/],
    ["group:Ann's", /`carrel group add 'Ann'\\''s'`/],
    ['eperson from:2027-02-30', /"2027-02-30" is not a date/],
    ['eperson from:27-02-03', /is not a date/],
    ['eperson until:2027-13-01', /is not a date/],
    ['eperson until:2027-01-01T00:00:00Z', /is not a date/],
    ['eperson until:', /is not a date/],
    ['eperson from:2027-01-01 from:2028-01-01', /from: twice/],
    ['eperson from:2027-01-02 until:2027-01-01', /ends before it begins/],
    ['admin from:2027-01-01', /admin takes no from: or until:/],
    [`group:a${' '.repeat(900_000)}b`, /longer than 1000 characters/],
  ] as [string, RegExp][])
    assert.throws(
      () => parseReaders([line], groups),
      error => error instanceof BadItem && message.test(error.message),
      line.slice(0, 100),
    )
})

test('a day must exist in its month', () => {
  for (const day of ['2024-02-29', '2000-02-29', '1999-12-31', '0001-01-01', '9999-12-31'])
    assert.equal(parseDay(day), day)
  for (const day of [
    '2023-02-29',
    '1900-02-29',
    '2027-04-31',
    '2027-00-01',
    '2027-01-00',
    '2027-1-1',
    '+002027-01-01',
  ])
    assert.throws(() => parseDay(day), BadItem, day)
})
