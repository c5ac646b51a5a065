import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearest } from '../../src/lib/nearest.ts'

const parameters = ['order_by', 'limit', 'offset', 'include_total']

test('Q7 the nearest name is the one with the fewest edits, in any case', () => {
  for (const [name, expected] of [
    ['limt', 'limit'],
    ['LIMIT', 'limit'],
    ['orderby', 'order_by'],
    ['ofset', 'offset'],
    ['include-totals', 'include_total'],
    ['', undefined],
    ['query', undefined],
    ['limitlimit', undefined],
  ] as const)
    assert.equal(nearest(name, parameters), expected, name)
  assert.equal(nearest('titl', ['title', 'titel', 'til']), 'title', 'the first of several')
  assert.equal(nearest('abc', []), undefined)
  // In lower case, İ is two characters.
  assert.equal(nearest('iiiiii', ['İİİİİİ']), undefined)
  assert.equal(nearest('İİİİİİ', ['iiiiii', 'İİİİİ']), 'İİİİİ')
})

test('Q7 the distance within its band is the distance', () => {
  const words = ['', 'a', 'ab', 'ba', 'abc', 'acb', 'bca', 'abcd', 'dcba', 'aabb', 'abab', 'abcabc', 'cbacba']
  for (const one of words)
    for (const other of words) {
      const limit = Math.max(2, Math.floor(one.length / 3))
      assert.equal(nearest(one, [other]) !== undefined, distance(one, other) <= limit, `${one} ${other}`)
    }
})

test('Q7 names over 200 characters get no suggestion and are none', () => {
  const long = 'x'.repeat(200)
  assert.equal(nearest(long, [`${long}y`]), `${long}y`)
  assert.equal(nearest(`${long}x`, [long]), undefined)
  const megabytes = 'x'.repeat(2_000_000)
  assert.equal(nearest(megabytes, [megabytes]), undefined)
  assert.equal(nearest(long, [megabytes, 'y']), undefined)
})

test('Q7 one search does a bounded amount of work, whatever it is given', () => {
  // Without a bound, these would never end.
  function* endless(name: string): Generator<string> {
    for (;;) yield name
  }
  const name = 'a'.repeat(200)
  assert.equal(nearest(name, endless('z')), undefined, 'names that differ in length')
  assert.equal(nearest(name, endless('z'.repeat(200))), undefined, 'names that differ at once')
  const late = `${'a'.repeat(180)}${'z'.repeat(20)}`
  assert.equal(nearest(name, endless(late)), undefined, 'names that differ at the end')
  assert.equal(nearest(`${name.slice(1)}b`, endless(name)), name)
})

test('Q7 a long list of long names is compared by the cells near the diagonal only', () => {
  let read = 0
  function* counted(): Generator<string> {
    for (let at = 0; at < 1_800; at++) {
      read++
      yield `${'field'.repeat(15)}${at}`
    }
  }
  assert.equal(nearest(`${'field'.repeat(15)}x`, counted()), `${'field'.repeat(15)}0`)
  assert.equal(read, 1_800, 'all of them fit into the bound')
})

/** Computes the Levenshtein distance by its definition. */
function distance(one: string, other: string): number {
  if (one === '' || other === '') return Math.max(one.length, other.length)
  const [a, b] = [one.slice(1), other.slice(1)]
  if (one[0] === other[0]) return distance(a, b)
  return 1 + Math.min(distance(a, other), distance(one, b), distance(a, b))
}
