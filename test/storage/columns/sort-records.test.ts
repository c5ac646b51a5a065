import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sortRecords } from '../../../src/storage/columns/sort-records.ts'
import { runs } from '../../support/scale.ts'

const ranks = (...values: number[]) => Uint32Array.from(values)

test('Q6 records without an order are in the order of their numbers', () => {
  assert.deepEqual([...sortRecords(3, [])], [0, 1, 2])
  assert.deepEqual([...sortRecords(0, [])], [])
  assert.deepEqual([...sortRecords(0, [{ ranks: ranks(), descending: true }])], [])
  assert.deepEqual([...sortRecords(1, [{ ranks: ranks(0), descending: true }])], [0])
})

test('Q6 ties keep the order of the key, also descending', () => {
  assert.deepEqual([...sortRecords(4, [{ ranks: ranks(1, 0, 1, 0), descending: false }])], [1, 3, 0, 2])
  assert.deepEqual([...sortRecords(4, [{ ranks: ranks(1, 0, 1, 0), descending: true }])], [0, 2, 1, 3])
})

test('Q2 Q6 any fields in any direction sort as a comparison of their ranks does', () => {
  const plan = fc.nat({ max: 40 }).chain(count =>
    fc.record({
      count: fc.constant(count),
      fields: fc.array(
        fc.record({
          ranks: fc
            .array(fc.nat({ max: 6 }), { minLength: count, maxLength: count })
            .map(values => Uint32Array.from(values)),
          descending: fc.boolean(),
        }),
        { maxLength: 4 },
      ),
    }),
  )
  fc.assert(
    fc.property(plan, ({ count, fields }) => {
      const expected = Array.from({ length: count }, (_, n) => n).sort((a, b) => {
        for (const field of fields) {
          const difference = (field.ranks[a] ?? 0) - (field.ranks[b] ?? 0)
          if (difference !== 0) return field.descending ? -difference : difference
        }
        return a - b
      })
      assert.deepEqual([...sortRecords(count, fields)], expected)
    }),
    runs(500, 5_000),
  )
})
