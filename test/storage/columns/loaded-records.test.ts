import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pickRecords, unpackRecords } from '../../../src/storage/columns/loaded-records.ts'
import type { RecordEntity } from '../../../src/storage/entities.ts'
import { loadRecords } from '../../../src/storage/records/record-listings.ts'
import type { RecordNumbers } from '../../../src/storage/records/record-source.ts'
import { runs } from '../../support/scale.ts'

function pack(records: readonly string[]) {
  const bytes = records.map(record => Buffer.from(record))
  const starts = new Uint32Array(records.length + 1)
  for (const [n, record] of bytes.entries()) starts[n + 1] = (starts[n] ?? 0) + record.length
  const packed = new Uint8Array(Buffer.concat([Buffer.from(starts.buffer), ...bytes]))
  return unpackRecords(packed, records.length)
}

test('Q1 records are picked from memory by number, in the order wanted, and joined', () => {
  const loaded = pack(['{"a":"ä"}', '{}', '{"b":[1,2]}'])
  const cut = (numbers: Uint32Array | readonly number[], separator: string) =>
    Buffer.from(pickRecords(loaded, numbers, separator)).toString()
  assert.equal(cut([2, 0], ','), '{"b":[1,2]},{"a":"ä"}')
  assert.equal(cut(Uint32Array.of(1, 1, 0), '\n'), '{}\n{}\n{"a":"ä"}')
  assert.equal(cut([1], ','), '{}')
  assert.equal(cut([], ','), '')
})

test('Q1 picking any records gives their texts, joined', () => {
  const choice = fc
    .array(
      fc.jsonValue({ maxDepth: 1 }).map(value => JSON.stringify({ value })),
      { minLength: 1, maxLength: 10 },
    )
    .chain(records =>
      fc.record({
        records: fc.constant(records),
        numbers: fc.array(fc.nat({ max: records.length - 1 }), { maxLength: 12 }),
        separator: fc.constantFrom(',', '\n'),
      }),
    )
  fc.assert(
    fc.property(choice, ({ records, numbers, separator }) => {
      const body = Buffer.from(pickRecords(pack(records), numbers, separator)).toString()
      assert.equal(body, numbers.map(n => records[n]).join(separator))
    }),
    runs(100, 1_000),
  )
})

test('Q1 records are read into memory a few at a time, so that others have their turn', async () => {
  const records = Array.from({ length: 5_000 }, (_, n) => JSON.stringify({ n, text: 'ä'.repeat(n % 7) }))
  const asked: number[] = []
  let isOpen = false
  const source = (there: readonly string[]) => ({
    open: () => {
      isOpen = true
      return {
        piece: async (numbers: RecordNumbers) => {
          const [from, end] = numbers as readonly [number, number]
          asked.push(end - from)
          return Buffer.from(there.slice(from, end).join('\n'))
        },
        close: async () => {
          isOpen = false
        },
      }
    },
  })
  const bytes = Buffer.byteLength(records.join(''))
  const entity = { name: 'works', source: { count: records.length, bytes } } as RecordEntity
  const loaded = unpackRecords(await loadRecords(source(records), entity), records.length)
  assert.equal(Buffer.from(pickRecords(loaded, [...records.keys()], '\n')).toString(), records.join('\n'))
  assert.ok(Math.max(...asked) <= 2_048)
  assert.equal(isOpen, false)
  await assert.rejects(
    loadRecords(source(records.slice(0, 4_000)), entity),
    /works has 4000 records up to slot 4096/,
  )
  assert.equal(isOpen, false)
})
