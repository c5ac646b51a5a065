import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type GivenColumn,
  openColumn,
  openPostings,
  packColumn,
  postingsOf,
  unpackColumn,
} from '../../../src/storage/columns/columns.ts'
import { finishField } from '../../../src/storage/columns/field-writer.ts'
import { Pairs, TupleSet } from '../../../src/storage/columns/groups.ts'
import {
  bitsIn,
  complement,
  hasRank,
  rankRange,
  ranksIn,
  ranksOf,
  sizeOf,
  tableOf,
} from '../../../src/storage/columns/rank-sets.ts'
import { inParts } from '../../../src/storage/columns/ranks-in-order.ts'
import {
  costOf,
  firstOf,
  type Sought,
  select,
  soughtAll,
  soughtRanks,
} from '../../../src/storage/columns/select.ts'
import {
  allBits,
  compact,
  countBits,
  numbersBetween,
  numbersIn,
  openSelection,
  packedSize,
  packSelection,
} from '../../../src/storage/columns/selections.ts'
import type { Column } from '../../../src/storage/columns/stored-column.ts'
import { openStored, type StoredField } from '../../../src/storage/columns/stored-field.ts'
import { ValueWriter } from '../../../src/storage/columns/value-writer.ts'
import { runs } from '../../support/scale.ts'
import { temporaryFolder } from '../../support/service/service.ts'

const numbers = (max: number, maxLength = 60) => fc.uniqueArray(fc.nat({ max }), { maxLength })
const ascending = (some: readonly number[]) => some.toSorted((one, other) => one - other)
const rangesOf = (words: Uint32Array, count: number) => ranksOf(numbersIn({ kind: 'bits', words }, count))
const upTo = (length: number) => Array.from({ length }, (_, n) => n)

test('Q20 a set of ranks has the ranks that it is made of, and its complement all others', () => {
  fc.assert(
    fc.property(numbers(40), some => {
      const set = ranksOf(ascending(some))
      const distinct = 41
      const others = complement(set, distinct)
      for (const rank of upTo(distinct)) {
        assert.equal(hasRank(set, rank), some.includes(rank))
        assert.equal(hasRank(others, rank), !some.includes(rank))
      }
      assert.deepEqual(ranksIn(tableOf(set, distinct)), set)
      assert.deepEqual(rangesOf(bitsIn(set, distinct), distinct), set)
      assert.deepEqual(complement(others, distinct), set)
    }),
    runs(100, 1_000),
  )
  for (const [from, end] of [
    [3, 130],
    [32, 64],
    [0, 96],
    [64, 66],
  ] as const)
    assert.deepEqual(rangesOf(bitsIn(rankRange(from, end), 200), 200), rankRange(from, end))
  assert.deepEqual([...rankRange(3, 3)], [])
  assert.deepEqual([...ranksOf([1, 2, 3, 5])], [1, 4, 5, 6])
})

test('Q20 bits and lists are the same selection', () => {
  fc.assert(
    fc.property(
      fc
        .nat({ max: 200 })
        .chain(count => fc.tuple(fc.constant(count), numbers(Math.max(count - 1, 0), count))),
      ([count, some]) => {
        const list = Uint32Array.from(ascending(some))
        const words = allBits(count)
        assert.equal(countBits(words), count)
        for (const n of upTo(count))
          if (!some.includes(n)) words[n >>> 5] = (words[n >>> 5] as number) & ~(1 << (n & 31))
        assert.equal(countBits(words), list.length)
        for (const selection of [{ kind: 'bits', words } as const, compact(words, count)]) {
          assert.deepEqual(numbersIn(selection, count), list)
          const packed = packSelection(selection)
          assert.equal(packedSize(packed), list.length)
          assert.deepEqual(Array.from(numbersIn(openSelection(packed), count)), Array.from(list))
          for (const [from, end] of [
            [0, count],
            [list.length >> 1, list.length],
            [3, 7],
            [list.length, list.length + 5],
          ] as const)
            assert.deepEqual([...numbersBetween(packed, from, end)], [...list.subarray(from, end)])
        }
        assert.deepEqual(Array.from(numbersIn(undefined, count)), upTo(count))
      },
    ),
    runs(100, 1_000),
  )
})

/** A condition on records with a few columns. */
interface Tree {
  readonly kind: 'and' | 'or' | 'leaf'
  readonly of: readonly Tree[]
  readonly column: number
  readonly ranks: readonly number[]
}

const columns = 3
const distinct = [2, 30, 400]

const tree: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree }>(tie => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    fc.nat({ max: columns - 1 }).chain(column =>
      fc.record({
        kind: fc.constant('leaf' as const),
        of: fc.constant([]),
        column: fc.constant(column),
        ranks: fc.uniqueArray(fc.nat({ max: distinct[column] as number }), { maxLength: 12 }).map(ascending),
      }),
    ),
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      of: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
      column: fc.constant(0),
      ranks: fc.constant([]),
    }),
  ),
})).tree

/** Writes a column to a file, with its ranks as values. */
function storedColumn(folder: string, name: string, ranks: Uint32Array, distinct: number): StoredField {
  const path = join(folder, 'things.1', name)
  const writer = new ValueWriter(path, 'integer', distinct)
  for (let rank = 0; rank < distinct; rank++) writer.addNumber(rank)
  const written = writer.finish()
  assert.ok(written)
  finishField(written, ranks.length, inParts(ranks), path)
  const field = openStored(path, ranks.length)
  assert.ok(field)
  return field
}

test('Q20 any tree of conditions selects the records that satisfy it, from memory and from files', t => {
  const folder = temporaryFolder(t)
  const count = 3_000
  const ranks = distinct.map((size, column) =>
    Uint32Array.from(
      { length: count },
      (_, n) => (Math.imul(n + 7 * column, 2_654_435_761) % (size + 1)) >>> 0,
    ),
  )
  // The highest rank is that of null.
  for (const [column, one] of ranks.entries()) {
    for (let n = 0; n < count; n++) one[n] = (one[n] as number) % ((distinct[column] as number) + 1)
    one[column] = distinct[column] as number
  }
  const packed = ranks.map(one => packColumn(one, true))
  const stored = ranks.map((one, at) => storedColumn(folder, `${at}`, one, distinct[at] as number))
  const open = (given: readonly GivenColumn[]) => given.map(one => openColumn(one, count))
  const ways = [
    {
      opened: open(packed),
      postings: packed.map(one => openPostings(postingsOf(one, count), openColumn(one, count))),
    },
    { opened: open(packed), postings: undefined },
    { opened: open(stored), postings: stored.map(one => openPostings(one, openColumn(one, count))) },
  ] as const
  const holds = ({ kind, of, column, ranks: some }: Tree, n: number): boolean => {
    if (kind === 'leaf') return some.includes(ranks[column]?.[n] as number)
    return kind === 'and' ? of.every(one => holds(one, n)) : of.some(one => holds(one, n))
  }
  const sought = ({ kind, of, column, ranks: some }: Tree, way: (typeof ways)[number]): Sought =>
    kind === 'leaf'
      ? soughtRanks(way.opened[column] as Column, way.postings?.[column] ?? null, ranksOf(some))
      : soughtAll(
          kind,
          of.map(one => sought(one, way)),
          count,
        )
  fc.assert(
    fc.property(tree, wanted => {
      const expected = upTo(count).filter(n => holds(wanted, n))
      for (const way of ways) {
        const one = sought(wanted, way)
        assert.ok(one.most >= expected.length && costOf(one, count) >= 0)
        const selection = select(one, count)
        assert.deepEqual(Array.from(numbersIn(selection, count)), expected)
        const first = firstOf(one, count, 5)
        if (one.kind === 'ranks') assert.deepEqual([...(first ?? [])], expected.slice(0, 5))
        else assert.equal(first, undefined)
      }
    }),
    runs(300, 3_000),
  )
})

test('Q20 a column knows where each rank starts, and who has it', () => {
  const packed = packColumn(Uint32Array.of(2, 0, 3, 2, 0), true)
  const column = openColumn(packed, 5)
  assert.equal(column.distinct, 3)
  assert.deepEqual([...unpackColumn(packed, 5).starts], [0, 2, 2, 4, 5])
  assert.deepEqual([...postingsOf(packed, 5)], [1, 4, 0, 3, 2])
  assert.equal(sizeOf(rankRange(0, 3), column.starts), 4)
  assert.equal(openColumn(packColumn(Uint32Array.of(0, 0), true), 2).distinct, 0)
  assert.equal(openColumn(packColumn(Uint32Array.of(0, 0), false), 2).distinct, 1)
  assert.equal(openColumn(packColumn(new Uint32Array(), false), 0).distinct, 0)
})

test('Q21 Q22 pairs and tuples are told apart, however many there are', () => {
  const pairs = new Pairs(1_000, 4)
  for (let n = 0; n < 5_000; n++) assert.equal(pairs.add(Math.floor(n / 10), n % 10), n)
  for (let n = 0; n < 5_000; n++) assert.equal(pairs.find(Math.floor(n / 10), n % 10), n)
  assert.ok(pairs.find(500, 0) < 0)
  const tuples = new TupleSet([10, 10, 10], 3)
  tuples.add([1, 2, 3])
  tuples.add([3, 2, 1])
  assert.deepEqual(
    [
      [1, 2, 3],
      [3, 2, 1],
      [1, 2, 1],
      [2, 1, 3],
    ].map(tuple => tuples.has(tuple)),
    [true, true, false, false],
  )
})
