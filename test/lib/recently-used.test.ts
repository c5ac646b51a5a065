import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecentlyUsed } from '../../src/lib/memo.ts'

test('Q17 a full map drops the entry that was used least recently, and says so', () => {
  const dropped: string[] = []
  const map = new RecentlyUsed<string, string>(2, value => dropped.push(value))
  map.add('a', 'A')
  map.add('b', 'B')
  assert.equal(map.get('a'), 'A')
  map.add('c', 'C')
  assert.deepEqual(dropped, ['B'])
  assert.deepEqual(
    ['a', 'b', 'c'].map(key => map.get(key)),
    ['A', undefined, 'C'],
  )
})
