import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseReaders } from '../../src/items/ingest/readers.ts'
import {
  admits,
  admitsWriter,
  lists,
  type Readers,
  readersText,
  readersWith,
  readRuleIn,
  type Viewer,
} from '../../src/model/readers.ts'
import { createAudiences } from '../../src/storage/statements/audiences.ts'

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
    [[{ reader: 'eperson:r' }], ruth, true],
    [[{ reader: 'eperson:r' }], anonymous, false],
    [[{ reader: 'eperson:R' }], ruth, false],
    [[{ reader: 'eperson:' }], ruth, false],
    [[{ reader: 'eperson:' }], anonymous, false],
    [[{ reader: 'eperson:Readers' }, { reader: 'group:r' }], ruth, false],
    [[{ reader: 'eperson:r', from: '2026-03-02' }], ruth, false],
    [[{ reader: 'eperson:r', until: day }], ruth, true],
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

test('Q11 R2 one parser reads the rules of entities, items and files', () => {
  const groups = new Set(['Readers'])
  for (const text of [
    'anonymous',
    'eperson',
    'group:Readers',
    'group:  Readers',
    'eperson:ruth@example.org',
  ] as const) {
    const [item] = parseReaders([text], groups, true)
    assert.equal(item?.reader, readRuleIn(text), text)
  }
  assert.deepEqual([parseReaders(['admin'], groups), readRuleIn('admin')], [[], 'admin'])
  for (const text of [
    '',
    'Eperson',
    'group:',
    'group: ',
    'eperson:',
    'eperson: ',
    'eperson:a b',
    'person:a',
    'x\neperson:a',
  ]) {
    assert.equal(readRuleIn(text), undefined, text)
    assert.throws(() => parseReaders([text], groups, true), /is not a rule/, text)
  }
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

test('Q11 an audience with a rule for one eperson is seen by that eperson alone, in whatever order viewers ask', () => {
  const reader = (eperson: string | null, ...groups: string[]): Viewer => ({
    kind: 'reader',
    eperson,
    groups: new Set(groups),
  })
  const [eva, max, nobody] = [reader('e'), reader('m'), anonymous]
  for (const order of [
    [eva, max, nobody],
    [nobody, max, eva],
    [max, eva, nobody],
  ]) {
    const audiences = createAudiences()
    audiences.add(1, [{ reader: 'eperson:e' }, { reader: 'eperson:x' }])
    audiences.add(2, [{ reader: 'eperson' }, { reader: 'eperson:e', right: 'write' }])
    audiences.add(3, [{ reader: 'anonymous', hidden: 'unlisted' }, { reader: 'eperson:e' }])
    audiences.add(4, [{ reader: 'eperson:e', hidden: 'unlisted' }])
    audiences.add(5, [{ reader: 'eperson:e', from: '2999-01-01' }])
    const seen = new Map(order.map(one => [one, audiences.admitting(one)]))
    assert.deepEqual([seen.get(eva), seen.get(max), seen.get(nobody)], [[1, 2, 3], [2], []])
    assert.deepEqual(
      [eva, max, nobody].map(one => audiences.admitting(one, 'by address')),
      [[1, 2, 3, 4], [2, 3], [3]],
    )
    // Each group has results of its own in addition to the eperson's. A new audience counts at once.
    audiences.add(6, [{ reader: 'group:G' }])
    assert.deepEqual(audiences.admitting(reader('e', 'G')), [1, 2, 3, 6])
    assert.deepEqual(audiences.admitting(reader('m', 'G')), [2, 6])
    audiences.add(7, [{ reader: 'eperson:m' }])
    assert.deepEqual(
      [audiences.admitting(max), audiences.admitting(eva)],
      [
        [2, 7],
        [1, 2, 3],
      ],
    )
    assert.equal(audiences.admitting(max), audiences.admitting(max), 'what is known is not worked out again')
  }
})
