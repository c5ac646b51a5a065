import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadRecords } from '../../../src/storage/columns/load-records.ts'
import { pickRecords, unpackRecords } from '../../../src/storage/columns/loaded-records.ts'
import type { RecordNumbers } from '../../../src/storage/columns/record-source.ts'
import type { RecordEntity } from '../../../src/storage/entities.ts'

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
