import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseWritten } from '../../../src/lib/json.ts'
import { readTextQuery } from '../../../src/model/text-query.ts'
import { orderOf } from '../../../src/model/value-order.ts'
import { openColumn, openPostings } from '../../../src/storage/columns/columns.ts'
import { allSlots, type Edit, packEdits, packParts, toSlots } from '../../../src/storage/columns/edits.ts'
import { isUnchanged } from '../../../src/storage/columns/field-changes.ts'
import { placesInFile, reviseField } from '../../../src/storage/columns/field-revision.ts'
import { finishField } from '../../../src/storage/columns/field-writer.ts'
import { newValues } from '../../../src/storage/columns/rank-revision.ts'
import { inParts } from '../../../src/storage/columns/ranks-in-order.ts'
import { addWords, indexWords } from '../../../src/storage/columns/search-texts.ts'
import { headerLength, openStored } from '../../../src/storage/columns/stored-field.ts'
import { ValueWriter } from '../../../src/storage/columns/value-writer.ts'
import { eachJson, jsonAt, openValues } from '../../../src/storage/columns/values.ts'
import { copyStored, mergeWords } from '../../../src/storage/columns/word-file.ts'
import {
  lookUp,
  openStoredWords,
  openWordIndex,
  openWordList,
  type PackedWords,
  type StoredWords,
} from '../../../src/storage/columns/word-index.ts'
import { writeWords } from '../../../src/storage/columns/word-writer.ts'
import { recordWork } from '../../../src/storage/columns/work.ts'
import { wordsBeside } from '../../../src/storage/records/field-files.ts'
import { runs } from '../../support/scale.ts'
import { temporaryFolder } from '../../support/service/service.ts'

const types = ['integer', 'number', 'text', 'json'] as const
type Type = (typeof types)[number]

const order = (type: Type) => orderOf({ type, collation: undefined })
const keyOf = (type: Type, json: string) => order(type).key(parseWritten(json))

/** Values as JSON; several may be equal and written differently. '' is null. */
const valuesOf: Readonly<Record<Type, readonly string[]>> = {
  integer: ['0', '7', '-3', '12', '9007199254740993', '5', ''],
  number: ['1', '1.0', '1.00', '0.25', '2.5', '-4', '0.1234567', '3e9', ''],
  text: ['"the sea"', '"sea"', '"a red sea"', '"é"', '"1"', '"x\\ny"', '"zz"', '"😀 sea"', ''],
  json: ['{"a":"sea","b":1}', '{"b":1,"a":"sea"}', '"sea"', '4', '4.0', 'true', '["sea","red"]', ''],
}

/** Writes the file of a field of these values, as they are first written. */
function fieldOf(path: string, type: Type, values: readonly string[]) {
  const first = new Map<string, string>()
  for (const json of values)
    if (json !== '' && !first.has(keyOf(type, json))) first.set(keyOf(type, json), json)
  const keys = [...first.keys()].sort(order(type).compare)
  const rankOf = new Map(keys.map((key, rank) => [key, rank]))
  const writer = new ValueWriter(path, type, keys.length)
  for (const key of keys) writer.addJson(first.get(key) ?? '')
  const written = writer.finish()
  assert.ok(written)
  const ranks = Uint32Array.from(values, json =>
    json === '' ? keys.length : (rankOf.get(keyOf(type, json)) ?? -1),
  )
  finishField(written, values.length, inParts(ranks), path)
  const field = openStored(path, values.length)
  assert.ok(field)
  return field
}

/** The bytes of a file, without what tells it from that of another version. */
const contentOf = (path: string) => readFileSync(path).subarray(headerLength)

function listed(given: PackedWords | StoredWords) {
  const { length, wordAt, valuesOf } = openWordList(given)
  return Array.from({ length }, (_, at) => [wordAt(at), [...valuesOf(at, at + 1)]])
}

const recordOf = (json: string) => (json === '' ? '{}' : `{"value":${json}}`)

const change = fc.record({
  place: fc.nat({ max: 60 }),
  kind: fc.constantFrom('insert', 'insert', 'replace', 'replace', 'delete'),
  value: fc.nat({ max: 20 }),
})

/** A record is written whose value stays: such a field is copied. */
const sameAgain = {
  type: 'text' as const,
  before: [0, 1, 2],
  changes: [{ place: 1, kind: 'replace' as const, value: 1 }],
}

test('R1 Q20 Q22 Q27 a field over the file of its base is that of the records that there are then', t => {
  const folder = temporaryFolder(t)
  let files = 0
  let copies = 0
  const cases = fc.record({
    type: fc.constantFrom(...types),
    before: fc.array(fc.nat({ max: 20 }), { maxLength: 40 }),
    changes: fc.array(change, { maxLength: 25 }),
  })
  fc.assert(
    fc.property(cases, ({ type, before: chosen, changes }) => {
      const pool = valuesOf[type]
      const before = chosen.map(n => pool[n % pool.length] as string)
      const edits: Edit[] = []
      const written: string[] = []
      const after: string[] = []
      const slots: number[] = []
      const put = (at: number, isThere: boolean, value: number) => {
        const json = pool[value % pool.length] as string
        edits.push({ at, isThere, written: written.length })
        slots.push(1_000 + written.length)
        written.push(json)
        after.push(json)
      }
      for (let at = 0; at <= before.length; at++) {
        const here = changes.filter(({ place }) => place % (before.length + 1) === at)
        for (const { value } of here.filter(({ kind }) => kind === 'insert')) put(at, false, value)
        if (at === before.length) break
        const one = here.find(({ kind }) => kind !== 'insert')
        if (one?.kind === 'replace') put(at, true, one.value)
        else if (one) edits.push({ at, isThere: true, written: -1 })
        else {
          after.push(before[at] as string)
          slots.push(at)
        }
      }

      const base = fieldOf(join(folder, 'things.1', `${files++}`), type, before)
      const expected = fieldOf(join(folder, 'things.1', `${files++}`), type, after)
      const keys = written.map(json => (json === '' ? null : keyOf(type, json)))
      const wanted = [...new Set(keys.filter(key => key !== null))]
      const places = placesInFile(base, { type, collation: undefined }, wanted)
      const values = newValues(
        keys,
        new Map(wanted.map((key, at) => [key, places[at] ?? assert.fail()])),
        order(type),
      )
      const revision = { base, name: 'value', type, edits, written: written.map(recordOf), values }
      const first = reviseField({ ...revision, read: new Map() })
      const read = new Map(
        first instanceof Uint32Array ? [] : first.map(n => [n, recordOf(before[n] as string)] as const),
      )
      const made = first instanceof Uint32Array ? first : reviseField({ ...revision, read })
      assert.ok(made instanceof Uint32Array)
      const field = { base, changes: made }
      if (isUnchanged(field)) {
        copies += Number(edits.length > 0)
        const path = join(folder, 'things.2', `${files++}`)
        copyStored(base.path, path)
        assert.deepEqual(openStored(path, after.length), { ...expected, path })
        assert.deepEqual(contentOf(path), contentOf(expected.path))
      }

      const count = after.length
      const [column, other] = [openColumn(field, count), openColumn(expected, count)]
      assert.equal(column.distinct, other.distinct)
      assert.deepEqual([...column.ranks], [...other.ranks])
      const [rankOf, knownRankOf] = [column.reader(1), other.reader(1)]
      for (let n = 0; n < count; n++) assert.equal(rankOf(n), knownRankOf(n))
      for (let rank = 0; rank <= column.distinct + 1; rank++)
        assert.equal(column.starts.at(rank), other.starts.at(rank))
      const [postings, knownPostings] = [openPostings(field, column), openPostings(expected, other)]
      for (let from = 0; from <= column.distinct; from++) {
        assert.deepEqual([...postings.of(from, from + 1)], [...knownPostings.of(from, from + 1)])
        assert.deepEqual(
          [...postings.of(from, column.distinct + 1)].sort((one, two) => one - two),
          [...knownPostings.of(from, column.distinct + 1)].sort((one, two) => one - two),
        )
      }
      for (const [from, end] of [
        [0, count >>> 1],
        [count >>> 1, count],
        [count >>> 2, count >>> 1],
      ] as const)
        assert.deepEqual([...column.read(from, end)], [...other.read(from, end)])

      const [opened, known] = [openValues(field, column.distinct), openValues(expected, column.distinct)]
      assert.equal(opened.length, known.length)
      const all: string[] = []
      eachJson(opened, json => all.push(json))
      for (let rank = 0; rank < known.length; rank++) {
        assert.equal(jsonAt(opened, rank), jsonAt(known, rank))
        assert.equal(all[rank], jsonAt(known, rank))
      }
      for (const [from, end] of [
        [0, known.length],
        [known.length >>> 2, known.length >>> 1],
      ] as const) {
        const doubles = opened.doubles(from, end)
        if (doubles) assert.deepEqual([...doubles], [...(known.doubles(from, end) ?? [])])
      }

      const ofBase = wordsBeside(base.path)
      writeWords(ofBase, builder => addWords(builder, openValues(base, base.distinct), type))
      const words = {
        base: openStoredWords(ofBase) ?? assert.fail(),
        written: recordWork.indexWritten(field, type),
        field,
      }
      const index = indexWords(known, type)
      const ofField = wordsBeside(expected.path)
      mergeWords(ofField, words)
      assert.deepEqual(listed(openStoredWords(ofField) ?? assert.fail()), listed(index))
      for (const text of ['sea', 'red sea', 's*', '1'])
        assert.deepEqual(
          [...lookUp(openWordIndex(words), readTextQuery(text), column.distinct, () => '')],
          [...lookUp(openWordIndex(index), readTextQuery(text), column.distinct, () => '')],
        )

      const revised = {
        before: null,
        changes: packParts([packEdits(before.length, edits), Uint32Array.from(written, (_, n) => 1_000 + n)]),
      }
      assert.deepEqual([...allSlots(revised)], slots)
      for (let n = 0; n < count; n++) assert.deepEqual([...toSlots(Uint32Array.of(n), revised)], [slots[n]])
    }),
    { ...runs(200, 20_000), examples: [[sameAgain]] },
  )
  assert.ok(copies > 0)
})
