import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openColumn, packRanks } from '../../../src/storage/columns/columns.ts'
import type { Edit } from '../../../src/storage/columns/edits.ts'
import { revisedColumn, revisedSlots } from '../../../src/storage/columns/rank-revision.ts'
import { runs } from '../../support/scale.ts'

/** Returns the column of records with these values, in the order of the key; null is no value. */
function columnOf(values: readonly (number | null)[]) {
  const distinct = [...new Set(values.filter(value => value !== null))].sort((one, other) => one - other)
  const ranks = Uint32Array.from(values, value =>
    value === null ? distinct.length : distinct.indexOf(value),
  )
  return { distinct, column: packRanks(ranks, distinct.length) }
}

const value = fc.option(fc.integer({ min: 0, max: 12 }), { nil: null })

test('R1 a column with edits is that of the records that there are then, and so are the slots', () => {
  fc.assert(
    fc.property(
      fc.array(value, { maxLength: 20 }),
      fc.array(
        fc.record({
          place: fc.nat({ max: 25 }),
          kind: fc.constantFrom('insert', 'replace', 'delete'),
          value,
        }),
        { maxLength: 12 },
      ),
      (before, wanted) => {
        const { distinct, column } = columnOf(before)
        const edits: Edit[] = []
        const written: (number | null)[] = []
        const after: { value: number | null; slot: number }[] = []
        for (let at = 0; at <= before.length; at++) {
          for (const one of wanted.filter(
            ({ place, kind }) => kind === 'insert' && place % (before.length + 1) === at,
          )) {
            edits.push({ at, isThere: false, written: written.length })
            after.push({ value: one.value, slot: 100 + written.length })
            written.push(one.value)
          }
          if (at === before.length) break
          const edit = wanted.find(({ place, kind }) => kind !== 'insert' && place === at)
          if (edit?.kind === 'replace') {
            edits.push({ at, isThere: true, written: written.length })
            after.push({ value: edit.value, slot: 100 + written.length })
            written.push(edit.value)
          } else if (edit) edits.push({ at, isThere: true, written: -1 })
          else after.push({ value: before[at] ?? null, slot: at })
        }
        const values = written.map(one => {
          if (one === null) return null
          const found = distinct.findIndex(known => known >= one)
          const place = found < 0 ? distinct.length : found
          return { place: { at: place, isThere: distinct[place] === one }, key: String(one).padStart(3, '0') }
        })
        const expected = columnOf(after.map(one => one.value)).column
        assert.deepEqual([...revisedColumn(column, before.length, edits, values)], [...expected])
        const slots = written.map((_, n) => 100 + n)
        assert.deepEqual(
          [...revisedSlots(null, before.length, edits, slots)],
          after.map(({ slot }) => slot),
        )
        assert.equal(openColumn(expected, after.length).ranks.length, after.length)
      },
    ),
    runs(1_000, 10_000),
  )
})
