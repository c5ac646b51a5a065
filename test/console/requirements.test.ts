import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EntityField } from '../../console/src/entities.ts'
import { printFilter, readFilter } from '../../console/src/query/conditions.ts'
import { openIn, read, subjectOf } from '../../console/src/query/pql.ts'
import { aboutRecords, apart, narrowed, requirementsOf } from '../../console/src/query/requirements.ts'

const fields: readonly EntityField[] = [
  { name: 'year', type: 'integer', nullable: true },
  { name: 'place', type: 'text', nullable: true },
  { name: 'about', type: 'json', nullable: true },
]

test('CO11 a condition is told apart from the clauses behind it, whatever fields are called', () => {
  for (const [typed, own, clauses = '', sample = ''] of [
    [''],
    ['limit 5', '', 'limit 5'],
    ['year > 1800 order by limit desc limit 5', 'year > 1800', 'order by limit desc limit 5'],
    ['limit > 5 and sample = 3 or having != 1', 'limit > 5 and sample = 3 or having != 1'],
    ['order = 1 and group is null and limit in [5]', 'order = 1 and group is null and limit in [5]'],
    ['a = "order by b" and (b = 1 or c = 2)', 'a = "order by b" and (b = 1 or c = 2)'],
    ['a in artists[id] { year > 3 limit 5 } offset 2', 'a in artists[id] { year > 3 limit 5 }', 'offset 2'],
    ['a = 1 with empty having count > 5', 'a = 1', 'with empty having count > 5'],
    ['having !(count = 1)', '', 'having !(count = 1)'],
    ['a = 1 sample 10 seed 7 limit 5', 'a = 1', 'sample 10 seed 7 limit 5', 'sample 10 seed 7'],
    ['order by a sample 10', '', 'order by a sample 10', 'sample 10'],
  ] as const)
    assert.deepEqual(apart(typed ?? ''), { own: own ?? '', clauses, sample }, typed)
})

test('CO11 what narrows a condition down is added to the whole of it, and to no sample', () => {
  assert.equal(narrowed('', ['b = 2']), 'b = 2')
  assert.equal(narrowed('a = 1 limit 5', ['b = 2']), 'a = 1 and b = 2')
  assert.equal(narrowed('a = 1 or c = 3 order by a', ['b = 2']), '(a = 1 or c = 3) and b = 2')
  assert.equal(narrowed('(a = 1 or c = 3)', ['b = 2', 'd = 4']), '(a = 1 or c = 3) and b = 2 and d = 4')
  assert.equal(narrowed('a = 1', ['b = 2', undefined]), undefined)
  assert.equal(narrowed('a = 1 sample 10', ['b = 2']), undefined)
  assert.equal(aboutRecords('a = 1 limit 5 sample 10 seed 7 order by a'), 'a = 1 sample 10 seed 7')
})

test('CO11 requirements are recognized in a condition, whoever wrote it', () => {
  for (const [condition, ...kinds] of [
    [''],
    ['* match "sea" and year >= 1790', 'search', 'bound'],
    ['place in ["a", "b"] and (year = 1 or year is null)', 'choice', 'choice'],
    ['place ~ "x" and !(year = 1) and (year = 1 or place = "a")', 'other', 'other', 'other'],
    ['year = 1 or place = "a"', 'other'],
    ['year > place and length(place) > 3 and nothing = 1', 'other', 'other', 'other'],
  ] as const)
    assert.deepEqual(
      requirementsOf(condition ?? '', fields)?.list.map(({ kind }) => kind),
      kinds,
      condition,
    )
  assert.equal(requirementsOf('year = ', fields), undefined)
  assert.equal(
    requirementsOf('year = 1 or place = "a" limit 5', fields)?.list[0]?.text,
    '(year = 1 or place = "a")',
  )
})

test('CO11 single conditions are read as they were written, and nothing else is', () => {
  for (const condition of [
    'year = 1800 and year != 3 and year in [1, 2]',
    'place is null or place is not null or place match "a b"',
    'place ~ "(?i)a\\\\.b" and place ~ "(?i)^ab" and place in ["a,b", "c"]',
    'about = "5" and about = 5 and about in ["a", 5, "5"] and about = true',
    '* match "sea"',
  ]) {
    const filter = readFilter(condition, fields)
    assert.equal(filter && printFilter(filter, fields), condition)
  }
  for (const condition of [
    'year = 1 and place = "a" or year = 2',
    'place ~ "a.b"',
    'year = 1 limit 5',
    'year >',
    'a = 1',
  ])
    assert.equal(readFilter(condition, fields), undefined, condition)
})

test('CO12 a query that is being written is read as far as it goes', () => {
  for (const [text, field, ...kinds] of [
    ['n { year > ', 'year', 'query', 'condition'],
    ['n { year = 1 and !(place in [', 'place', 'query', 'condition', 'condition'],
    ['n { year in artists[', undefined, 'query', 'condition', 'query', 'field'],
    ['n[to_string(', undefined, 'query', 'function', 'field'],
    ['n { parts { place = ', 'place', 'query', 'condition', 'related', 'condition'],
    ['n[year] { year = 1 group by ', undefined, 'query', 'clause', 'field'],
  ] as const) {
    const open = openIn(read(text, 'query').parts)
    const inside = open.slice(open.findLastIndex(({ kind }) => kind === 'query') + 1)
    assert.deepEqual(
      [subjectOf(inside, fields)?.name, ...open.map(({ kind }) => kind)],
      [field, ...kinds],
      text,
    )
  }
})
