import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  admits,
  admitsWriter,
  lists,
  type Readers,
  readersText,
  readersWith,
  type Viewer,
} from '../../src/model/readers.ts'
import { createAudiences } from '../../src/storage/shared/audiences.ts'

const anonymous: Viewer = { kind: 'reader', eperson: null, groups: new Set() }
const onCampus: Viewer = { kind: 'reader', eperson: null, groups: new Set(['Campus']) }
const ruth: Viewer = { kind: 'reader', eperson: 'r', groups: new Set(['Readers']) }
const administrator: Viewer = { kind: 'administrator' }
const day = '2026-03-01'

test('Q11 a rule admits those whom it names, from its first day to its last, both included', () => {
  const rows: readonly (readonly [Readers, Viewer, boolean])[] = [
    [[], ruth, false],
    [[], administrator, true],
    [[{ reader: 'anonymous' }], anonymous, true],
    [[{ reader: 'eperson' }], anonymous, false],
    [[{ reader: 'eperson' }], onCampus, false],
    [[{ reader: 'eperson' }], ruth, true],
    [[{ reader: 'group:Campus' }], onCampus, true],
    [[{ reader: 'group:Campus' }], ruth, false],
    [[{ reader: 'group:Campus' }, { reader: 'group:Readers' }], ruth, true],
    [[{ reader: 'group:readers' }], ruth, false],
    [[{ reader: 'anonymous', from: day }], anonymous, true],
    [[{ reader: 'anonymous', from: '2026-03-02' }], anonymous, false],
    [[{ reader: 'anonymous', until: day }], anonymous, true],
    [[{ reader: 'anonymous', until: '2026-02-28' }], anonymous, false],
    [[{ reader: 'anonymous', from: '2026-03-02' }, { reader: 'eperson' }], ruth, true],
    [[{ reader: 'anonymous', from: '2026-03-02' }], administrator, true],
  ]
  for (const [readers, viewer, expected] of rows)
    assert.equal(admits(readers, viewer, day), expected, JSON.stringify([readers, viewer]))
})

test('I10 I11 I13 a withdrawn item is there for its writers alone, and one that is not discoverable is listed for them alone', () => {
  const writers: Readers = [{ reader: 'group:Readers', right: 'write' }]
  const all = [true, true, true]
  const viewers: readonly Viewer[] = [anonymous, ruth, administrator]
  for (const [withdrawn, discoverable, ofAnybody] of [
    [false, true, [true, true, false]],
    [false, false, [true, false, false]],
    [true, true, [false, false, false]],
    [true, false, [false, false, false]],
  ] as const)
    for (const viewer of viewers) {
      const expected: readonly boolean[] = viewer === anonymous ? ofAnybody : all
      const readers = readersWith([{ reader: 'anonymous' }], writers, { withdrawn, discoverable })
      assert.deepEqual(
        [admits, lists, admitsWriter].map(may => may(readers, viewer, day)),
        expected,
        JSON.stringify([withdrawn, discoverable, viewer]),
      )
    }
})

test('the same rules have the same text, in whatever order and however often', () => {
  const one: Readers = [{ reader: 'group:B' }, { from: day, reader: 'anonymous' }, { reader: 'group:B' }]
  const other: Readers = [{ reader: 'anonymous', from: day }, { reader: 'group:B' }]
  assert.equal(readersText(one), readersText(other))
  assert.equal(readersText(one), '[{"reader":"anonymous","from":"2026-03-01"},{"reader":"group:B"}]')
  assert.equal(readersText([]), '[]')
})

test('Q11 an audience that comes later is seen by a viewer that was there before', () => {
  const audiences = createAudiences()
  assert.deepEqual([audiences.lastId, audiences.admitting(ruth)], [0, []])
  audiences.add(1, [{ reader: 'eperson' }])
  audiences.add(2, [])
  const seen = audiences.admitting(ruth)
  assert.deepEqual(seen, [1])
  assert.equal(audiences.admitting(ruth), seen, 'what is known is not worked out again')
  audiences.add(3, [{ reader: 'group:Readers' }])
  assert.deepEqual(audiences.admitting(ruth), [1, 3])
  assert.deepEqual(audiences.admitting(anonymous), [])
  assert.equal(audiences.lastId, 3)
})
