import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileExpression } from '../../../src/lib/expressions.ts'
import { inUtc } from '../../../src/lib/instants.ts'
import { toText } from '../../../src/model/functions/to-string.ts'
import { orderOf } from '../../../src/model/value-order.ts'
import { columnsOfRows, openColumn, packColumn } from '../../../src/storage/columns/columns.ts'
import { computedColumn } from '../../../src/storage/columns/derived-columns.ts'
import { finishField } from '../../../src/storage/columns/field-writer.ts'
import { groupBy } from '../../../src/storage/columns/groups.ts'
import { placesIn } from '../../../src/storage/columns/look-up.ts'
import { inParts } from '../../../src/storage/columns/ranks-in-order.ts'
import { packValues } from '../../../src/storage/columns/readable-records.ts'
import { rowsOf } from '../../../src/storage/columns/rows.ts'
import { partsOf } from '../../../src/storage/columns/selections.ts'
import { openStored } from '../../../src/storage/columns/stored-field.ts'
import { ValueWriter } from '../../../src/storage/columns/value-writer.ts'
import {
  arrangeValues,
  eachText,
  jsonAt,
  MemoryValues,
  matchTexts,
  openValues,
  Packer,
} from '../../../src/storage/columns/values.ts'
import { recordWork } from '../../../src/storage/columns/work.ts'
import { anyText } from '../../support/data/arbitrary-records.ts'
import { runs } from '../../support/scale.ts'
import { temporaryFolder } from '../../support/service/service.ts'

const packed = (texts: readonly string[]) => {
  const packer = new Packer(texts.length)
  for (const text of texts) packer.add(text)
  return new MemoryValues(packer.finish(), texts.length)
}

test('Q20 values are read as they were packed, one by one and many at a time', () => {
  fc.assert(
    fc.property(
      fc.array(
        anyText.map(text => text.toWellFormed()),
        { maxLength: 40 },
      ),
      texts => {
        const values = packed(texts.map(text => JSON.stringify(text)))
        assert.deepEqual(
          texts.map((_, at) => JSON.parse(jsonAt(values, at))),
          texts,
        )
        const read: string[] = []
        eachText(values, 0, texts.length, text => read.push(text))
        assert.deepEqual(read, texts)
      },
    ),
    runs(100, 1_000),
  )
  const read: [string, number][] = []
  eachText(packed(['5', '"5"', 'true', '"a\\nb"', '"ä"']), 1, 5, (text, rank) => read.push([text, rank]))
  assert.deepEqual(read, [
    ['5', 1],
    ['true', 2],
    ['a\nb', 3],
    ['ä', 4],
  ])
})

test('Q20 values that match an expression are found as they lie in memory or in a file', t => {
  const folder = temporaryFolder(t)
  let files = 0
  fc.assert(
    fc.property(
      fc.array(fc.oneof(anyText, fc.constantFrom('sea', 'the sea', 'season', '"sea"', '\\sea\n')), {
        maxLength: 40,
      }),
      fc.constantFrom('sea', 'é', 'a', '\u{1f600}', 'u', '0'),
      (texts, part) => {
        const json = texts.map(text => JSON.stringify(text))
        const path = join(folder, `${files++}`)
        const writer = new ValueWriter(path, 'text', json.length)
        for (const one of json) writer.addJson(one)
        const written = writer.finish()
        assert.ok(written)
        finishField(written, texts.length, inParts(Uint32Array.from(texts.keys())), path)
        const stored = openStored(path, texts.length)
        assert.ok(stored)
        for (const values of [packed(json), openValues(stored, texts.length)]) {
          for (const [expression, holds] of [
            [part, text => text.includes(part)],
            [`(?s)^.?${part}`, text => new RegExp(`^.?${part}`, 'su').test(text)],
          ] as const satisfies [string, (text: string) => boolean][]) {
            const found: string[] = []
            const matcher = compileExpression(expression)
            matchTexts(values, texts.length, matcher, rank => found.push(texts[rank] as string))
            assert.deepEqual(found, texts.filter(holds))
          }
          assert.deepEqual(
            texts.map((_, at) => jsonAt(values, at)),
            json,
          )
        }
      },
    ),
    runs(100, 1_000),
  )
})

test('Q20 parts of values are arranged by their places', () => {
  const whole = arrangeValues([packed(['"c"', '"a"']), packed(['"bb"'])], Uint32Array.of(2, 0, 1))
  const values = openValues(whole, 3)
  assert.deepEqual(
    [0, 1, 2].map(at => jsonAt(values, at)),
    ['"a"', '"bb"', '"c"'],
  )
})

test('Q22 a column of masked instants has the text of each, whichever mask it is', () => {
  const instants = fc.uniqueArray(
    fc.oneof(
      fc.integer({ min: 0, max: 20 }).map(days => Date.UTC(2023, 11, 25) + days * 6 * 3_600_000),
      fc.integer({ min: -62_170_000_000, max: -62_130_000_000 }).map(seconds => seconds * 1_000),
      fc.integer({ min: 1_700_000_000, max: 1_700_000_100 }).map(seconds => seconds * 1_000),
    ),
    { maxLength: 40 },
  )
  const masks = [
    'YYYY',
    'MM.YYYY',
    'DD Mon YYYY',
    'YYYY-MM-DD HH24:MI:SS',
    'MM',
    'YYYY DD',
    'DY YYYY MM DD',
    '"x"',
  ]
  fc.assert(
    fc.property(instants, fc.constantFrom(...masks), (times, mask) => {
      const texts = times.toSorted((one, other) => one - other).map(time => new Date(time).toISOString())
      const ranks = Uint32Array.from([...texts.keys(), texts.length, 0])
      const { column, values } = computedColumn({
        ...{ base: packColumn(ranks, true), count: ranks.length, type: 'text' },
        computed: { kind: 'to_string', mask },
        values: packValues(
          texts.map(text => JSON.stringify({ at: text })),
          texts.length,
          { name: 'at', path: [] },
        ),
      })
      const { distinct, ranks: found } = openColumn(column, ranks.length)
      const read = openValues(values, distinct)
      const shown = texts.map(text => toText.of({ kind: 'to_string', mask }, text))
      assert.deepEqual(
        texts.map((_, at) => JSON.parse(jsonAt(read, found[at] as number))),
        shown,
      )
      assert.equal(found[texts.length], distinct)
      assert.equal(distinct, new Set(shown).size)
    }),
    runs(200, 2_000),
  )
})

test('Q20 a value that is cut out of a record is the one that parsing finds', () => {
  const value = fc.oneof(
    anyText,
    fc.integer(),
    fc.boolean(),
    fc.constantFrom(null, 1e300, '"a":', ',"a":1', '{', '\\'),
    fc.constantFrom<unknown>([], ['a'], { a: 1 }, [{ a: 2 }]),
  )
  const names = ['a', 'b', '"a"', 'a":', 'ab', '']
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...names), value),
      fc.constantFrom(...names),
      (record, name) => {
        const json = JSON.stringify(record)
        const found = openValues(packValues([json], 1, { name, path: [] }), 1)
        const expected = (JSON.parse(json) as Record<string, unknown>)[name] ?? null
        assert.equal(jsonAt(found, 0), expected === null ? '' : JSON.stringify(expected))
      },
    ),
    runs(100, 1_000),
  )
})

test('Q22 members of rows are in the order of the columns, whatever their names', () => {
  const column = (name: string, ...path: readonly (string | number)[]) => ({
    name: `"${name}"`,
    type: 'json' as const,
    value: { kind: 'field' as const, field: { name, path, type: 'json' as const } },
  })
  assert.deepEqual(
    rowsOf('{"a":{"b":[1,12345678901234567890]},"c":null},{"__proto__":5}', [
      column('c'),
      column('a', 'b', 1),
      column('__proto__'),
      column('toString'),
    ]),
    [
      '{"\\"c\\"":null,"\\"a\\"":12345678901234567890,"\\"__proto__\\"":null,"\\"toString\\"":null}',
      '{"\\"c\\"":null,"\\"a\\"":null,"\\"__proto__\\"":5,"\\"toString\\"":null}',
    ],
  )
})

test('Q22 groups are the same, whether numbered by combinations of ranks or one by one', () => {
  const count = 5_000
  const small = [3, 7].map((size, at) =>
    openColumn(
      packColumn(
        Uint32Array.from({ length: count }, (_, n) => (n * (at + 3)) % size),
        false,
      ),
      count,
    ),
  )
  const large = openColumn(
    packColumn(
      Uint32Array.from({ length: count }, (_, n) => n % 1_250),
      false,
    ),
    count,
  )
  for (const columns of [small, [...small, large], [large, large]])
    for (const numbers of [undefined, Uint32Array.of(5, 6, 7, 1_255, 4_999)]) {
      const selection = numbers && ({ kind: 'list', numbers } as const)
      const { idsIn, size, rankOf } = groupBy(columns, selection, count)
      const met: number[] = []
      for (const part of partsOf(selection, count)) {
        const ids = idsIn(part)
        for (let at = 0; at < part.length; at++) {
          const n = part.from + (part.places?.[at] ?? at)
          met.push(n)
          assert.ok((ids[at] as number) < size)
          for (const [place, column] of columns.entries())
            assert.equal(rankOf(place, ids[at] as number), column.ranks[n])
        }
      }
      assert.deepEqual(met, [...(numbers ?? Array.from({ length: count }, (_, n) => n))])
    }
})

test('Q21 rows that were read become columns, in which equal values have one rank', () => {
  const { count, columns } = columnsOfRows('[["b",1.0],["a",12345678901234567890],["b",1]]', ['text', 'json'])
  assert.equal(count, 3)
  const ranks = columns.map(({ column }) => [...openColumn(column, count).ranks])
  assert.deepEqual(ranks, [
    [1, 0, 1],
    [0, 1, 0],
  ])
})

test('Q10 work for a client that has gone ends with an error', () => {
  const stop = new Int32Array(new SharedArrayBuffer(4))
  const task = { count: 0, facts: [], where: { kind: 'none' }, records: null } as const
  assert.equal(recordWork.filter(task, stop)[0], 0)
  Atomics.store(stop, 0, 1)
  assert.throws(() => recordWork.filter(task, stop), /the client has disconnected/)
})

test('Q21 instants of any zone are the same in UTC', () => {
  const cases = {
    '2020-06-30T14:00:00+02:00': '2020-06-30T12:00:00Z',
    '2020-06-30t12:00:00.5000z': '2020-06-30T12:00:00.5Z',
    '2020-01-01 00:30:00.123456789+01:00': '2019-12-31T23:30:00.123456789Z',
    '2016-12-31T23:59:60Z': '2016-12-31T23:59:60Z',
    '2017-01-01T00:59:60.25+01:00': '2016-12-31T23:59:60.25Z',
  }
  for (const [given, expected] of Object.entries(cases)) assert.equal(inUtc(given), expected)
})

test('Q20 constants are found among values however they are written', () => {
  const keys = orderOf({ type: 'text' })
  fc.assert(
    fc.property(
      fc.uniqueArray(anyText, { maxLength: 30 }),
      fc.array(anyText, { maxLength: 5 }),
      (texts, others) => {
        const sorted = texts.toSorted((one, other) => keys.compare(keys.key(one), keys.key(other)))
        const values = packed(sorted.map(text => JSON.stringify(text)))
        const sought = [...texts, ...others]
        const places = placesIn(
          values,
          { type: 'text', collation: undefined },
          sought.map(text => ({ kind: 'text', text })),
        )
        for (const [n, text] of sought.entries()) {
          const at = sorted.findIndex(one => keys.compare(keys.key(one), keys.key(text)) >= 0)
          const place = { at: at < 0 ? sorted.length : at, isThere: sorted.includes(text) }
          assert.deepEqual(places[n], place, JSON.stringify(text))
        }
      },
    ),
    runs(100, 1_000),
  )
  const numbers = [
    '-12345678901234567890',
    '-7',
    '-0.5',
    '0',
    '1e-7',
    '0.25',
    '3',
    '9007199254740993',
    '1e+21',
  ]
  const values = packed(numbers)
  const found = (text: string) =>
    placesIn(values, { type: 'number', collation: undefined }, [{ kind: 'number', text }])[0]
  for (const [at, text] of numbers.entries()) assert.deepEqual(found(text), { at, isThere: true })
  assert.deepEqual(found('0.0000001'), { at: 4, isThere: true })
  assert.deepEqual(found('9007199254740992'), { at: 7, isThere: false })
  assert.deepEqual(found('9007199254740994'), { at: 8, isThere: false })
  assert.deepEqual(found('-6.5'), { at: 2, isThere: false })
  assert.deepEqual(found('-0'), { at: 3, isThere: true })
})
