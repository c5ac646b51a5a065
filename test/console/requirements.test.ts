import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aboutRecords, apart, narrowed } from '../../console/src/query/requirements.ts'

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
