import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { wordsOf } from '../../../src/lib/words.ts'
import { matchesText, readTextQuery, searchable } from '../../../src/model/text-query.ts'
import { indexWords } from '../../../src/storage/columns/search-texts.ts'
import { MemoryValues, Packer } from '../../../src/storage/columns/values.ts'
import {
  lookUp,
  openStoredWords,
  openWordIndex,
  openWordList,
  type PackedWords,
} from '../../../src/storage/columns/word-index.ts'
import { packWords, WordIndexBuilder, writeWords } from '../../../src/storage/columns/word-writer.ts'
import { arbitraryText } from '../../support/data/arbitrary-texts.ts'
import { runs } from '../../support/scale.ts'
import { temporaryFolder } from '../../support/service/service.ts'

/** The texts of each value. */
type Fields = readonly (readonly string[])[]

const addTo = (builder: WordIndexBuilder, fields: Fields) => {
  for (const [value, texts] of fields.entries()) builder.add(value, texts)
}

function packedWordsOf(fields: Fields) {
  const builder = new WordIndexBuilder()
  addTo(builder, fields)
  return packWords(builder)
}
const indexOf = (fields: Fields) => openWordIndex(packedWordsOf(fields))

/** Writes an index to a file, a few places at a time. */
function storedIndexOf(path: string, fields: Fields) {
  writeWords(path, builder => addTo(builder, fields), 7)
  const words = openStoredWords(path)
  assert.ok(words)
  return openWordIndex(words)
}

test('Q27 the index of a field has each word once, in order, and who has it', () => {
  const index = openWordList(packedWordsOf(['', 'the sea', 'sea sea side', '東京 sea'].map(text => [text])))
  const words = Array.from({ length: index.length }, (_, at) => index.wordAt(at))
  assert.deepEqual(words, ['sea', 'side', 'the', '京', '東'])
  const values = words.map((_, at) => [...index.valuesOf(at, at + 1)])
  assert.deepEqual(values, [[1, 2, 3], [2], [1], [3], [3]])
  assert.equal(openWordList(packedWordsOf([])).length, 0)
})

const vocabulary = ['sea', 'side', 'seaside', 'red', 'reds', 'house', 'é', '東', '京', '1', '\u{1d7d8}']
const text = fc.oneof(
  fc.array(fc.constantFrom(...vocabulary), { maxLength: 6 }).map(list => list.join(' ')),
  arbitraryText,
)
const query = fc
  .array(
    fc.tuple(
      fc.constantFrom('', '', '"'),
      fc.constantFrom('', '', '*'),
      fc.array(fc.constantFrom(...vocabulary, 's', 're', 'zz'), { minLength: 1, maxLength: 3 }),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map(list => list.map(([quote, star, words]) => `${quote}${words.join(' ')}${star}${quote}`).join(' '))
  .map(readTextQuery)

test('Q27 the index finds the values that a look at each of them finds, from memory and from a file', t => {
  const folder = temporaryFolder(t)
  let files = 0
  fc.assert(
    fc.property(fc.array(text, { maxLength: 60 }), query, (texts, wanted) => {
      const ofFields = texts.map(one => [one, one.slice(2)])
      const fields = ofFields.map(searchable)
      const expected = fields.flatMap((field, at) => (matchesText([field], wanted) ? at : []))
      for (const index of [indexOf(ofFields), storedIndexOf(join(folder, `${files++}`), ofFields)]) {
        const found = lookUp(index, wanted, fields.length, at => fields[at] ?? '')
        assert.deepEqual([...found], expected)
      }
    }),
    runs(2_000, 20_000),
  )
})

test('Q27 the words of values as they lie in a file are those of their texts', () => {
  const value = fc.oneof(
    text,
    fc
      .array(fc.tuple(text, fc.constantFrom(' ', '-', '"', '\\', '\n', '\u0338', '\ud800')))
      .map(parts => parts.flat().join('')),
  )
  fc.assert(
    fc.property(fc.array(value, { maxLength: 60 }), texts => {
      const packer = new Packer(texts.length)
      for (const one of texts) packer.add(JSON.stringify(one))
      const values = new MemoryValues(packer.finish(), texts.length)
      const listed = (words: PackedWords) => {
        const { length, wordAt, valuesOf } = openWordList(words)
        return Array.from({ length }, (_, at) => [wordAt(at), [...valuesOf(at, at + 1)]])
      }
      assert.deepEqual(listed(indexWords(values, 'text')), listed(packedWordsOf(texts.map(one => [one]))))
    }),
    runs(2_000, 20_000),
  )
})

test('Q27 a rare word is looked up among many, and many prefixes are joined', () => {
  const texts = Array.from(
    { length: 5_000 },
    (_, at) => `common word${at} ${at % 500 === 7 ? 'rare' : ''} w${at % 3}`,
  )
  const fields = texts.map(one => searchable([one]))
  const index = indexOf(texts.map(one => [one]))
  for (const search of [
    'common rare',
    'rare',
    'word1*',
    'word1* w1',
    '"common word1*"',
    'w* common rare',
    'none',
    'none*',
    'word4999',
  ]) {
    const wanted = readTextQuery(search)
    const expected = fields.flatMap((field, at) => (matchesText([field], wanted) ? at : []))
    const found = lookUp(index, wanted, fields.length, at => fields[at] ?? '')
    assert.deepEqual([...found], expected, search)
  }
  assert.equal(wordsOf('word4999').length, 1)
})
