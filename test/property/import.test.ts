import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Piece } from '../../src/import/json-lines.ts'
import { createStaging } from '../../src/import/staging.ts'
import { anyText, type RawEntity, rawEntity } from '../support/data/arbitrary-records.ts'
import { compareValues, fieldsOf, type RawField, recordText, sorted } from '../support/data/oracle.ts'
import { runs } from '../support/scale.ts'
import { temporaryFolder } from '../support/service/service.ts'

const isNull = (value: string | undefined) => value === undefined || value === 'null'

/**
 * Returns for each record, in the order of the key, the rank of its value among the distinct ones, nulls
 * last.
 */
function ranksOf({ name, type }: RawField, { key, records }: RawEntity, fields: readonly RawField[]) {
  const values = sorted(records, fields, [], key).map(record => record.get(name))
  const distinct: string[] = []
  for (const value of values
    .filter(one => !isNull(one))
    .map(String)
    .sort((a, b) => compareValues(type, a, b)))
    if (distinct.length === 0 || compareValues(type, distinct.at(-1) ?? '', value) !== 0) distinct.push(value)
  return values.map(value =>
    isNull(value) ? distinct.length : distinct.findIndex(one => compareValues(type, one, value ?? '') === 0),
  )
}

async function* cut(records: readonly string[], sizes: readonly number[]): AsyncIterable<Piece> {
  let first = 1
  for (let at = 0, piece = 0; at < records.length; piece++) {
    const lines = records.slice(at, at + (sizes[piece % sizes.length] ?? 1))
    yield { kind: 'lines', first, bytes: Buffer.from(lines.map(line => `${line}\n`).join('')) }
    first += lines.length
    at += lines.length
  }
}

test('D2 Q6 records that are read in many pieces are numbered and ranked as a plain sort does', async t => {
  const folder = temporaryFolder(t)
  let round = 0
  await fc.assert(
    fc.asyncProperty(
      rawEntity(anyText, { least: 1, most: 60 }),
      fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }),
      async (entity, sizes) => {
        const staging = createStaging(
          join(folder, `${round++}`),
          { types: new Map(), collations: new Map() },
          [entity.key],
        )
        try {
          await staging.read(cut(entity.records.map(recordText), sizes), undefined)
          const staged = await staging.finish(() => {})
          const fields = fieldsOf(entity.records)
          assert.deepEqual(staged.fields, fields)
          const order = sorted(entity.records, fields, [], entity.key).map(recordText)
          assert.deepEqual([...staged.records(true)], order)
          for (const [place, field] of fields.entries())
            assert.deepEqual([...(await staged.ranks(place))], ranksOf(field, entity, fields), field.name)
        } finally {
          await staging.close()
        }
      },
    ),
    { ...runs(40, 400), interruptAfterTimeLimit: 30_000 },
  )
})

test('D2 the first line that is wrong is named, whichever thread reads it', async t => {
  const folder = temporaryFolder(t)
  for (const [bad, message] of [
    ['{"id":}', /^line 70: not valid JSON/],
    ['{"id":70,"n":"x"}', /^line 70: the field "n" is declared as integer/],
    ['{"id":69}', /^line 70: the key "id" has the value 69 again, as on line 69/],
    ['{"n":1}', /^line 70: the key field "id" is missing or null/],
  ] as const) {
    const records = Array.from({ length: 120 }, (_, n) => `{"id":${n + 1},"n":${n}}`)
    records[69] = bad
    // A worse value, later.
    if (/valid|declared/.test(message.source)) records[100] = 'nonsense'
    for (const size of [1, 7, 50, 200]) {
      const staging = createStaging(
        join(folder, 'wrong'),
        {
          types: new Map([['n', 'integer'] as const]),
          collations: new Map(),
        },
        ['id'],
      )
      await assert.rejects(
        async () => {
          await staging.read(cut(records, [size]), undefined)
          await staging.finish(() => {})
        },
        { message },
      )
      await staging.close()
    }
  }
})
