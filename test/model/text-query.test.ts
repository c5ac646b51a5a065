import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { placedWords, spacedWords, wordsOf } from '../../src/lib/words.ts'
import {
  highlight,
  matchesText,
  readTextQuery,
  relevanceOf,
  searchable,
  textsIn,
} from '../../src/model/text-query.ts'
import { arbitraryText } from '../support/data/arbitrary-texts.ts'
import { runs } from '../support/scale.ts'

const finds = (texts: readonly string[], query: string) =>
  matchesText(
    texts.map(text => searchable([text])),
    readTextQuery(query),
  )

test('Q27 words are runs of letters, marks and digits, without case and accents', () => {
  for (const [text, expected] of [
    ['', ''],
    ['The Sea-Side', 'the sea side'],
    ["l’amour d'une O'Brien", 'l amour d une o brien'],
    ['snake_case v1.5 3,000', 'snake case v1 5 3 000'],
    ['Ångström ÉLÉGANCE naïve', 'angstrom elegance naive'],
    ['E\u0301le\u0301gance', 'elegance'],
    ['Straße Œuvre Ærø Łódź Đorđe Þór', 'strasse oeuvre aero lodz dorde thor'],
    ['ﬁne ½ x² ㎏', 'fine 1 2 x2 kg'],
    ['ΟΔΥΣΣΕΥΣ Οδυσσεύς', 'οδυσσευσ οδυσσευσ'],
    ['Ёлка ЙОД', 'елка иод'],
    ['İstanbul ISPARTA ışık', 'istanbul isparta isik'],
    ['co\u00adoperate zero\u200bwidth', 'cooperate zerowidth'],
    ['東京タワー', '東 京 タ ワ ー'],
    ['がき ｶﾞ', 'が き ガ'],
    ['한국어 한', '한국어 한'],
    ['हिन्दी', 'हिन्दी'],
    ['שָׁלוֹם مُحَمَّد', 'שלום محمد'],
    ['— … 😀 ©', ''],
    ['\ud83d torn', 'torn'],
  ] as const)
    assert.equal(wordsOf(text).join(' '), expected, text)
})

test('Q27 a search is words, prefixes with a star, and words in a row in quotes', () => {
  for (const [text, expected] of [
    [
      'Sea side',
      [
        { words: ['sea'], prefix: false },
        { words: ['side'], prefix: false },
      ],
    ],
    ['sea* sea*', [{ words: ['sea'], prefix: true }]],
    ['"Sea Side"', [{ words: ['sea', 'side'], prefix: false }]],
    ['"sea sid*"', [{ words: ['sea', 'sid'], prefix: true }]],
    ['"sea sid"*', [{ words: ['sea', 'sid'], prefix: true }]],
    ['well-known*', [{ words: ['well', 'known'], prefix: true }]],
    [
      'a"b c"d',
      [
        { words: ['a'], prefix: false },
        { words: ['b', 'c'], prefix: false },
        { words: ['d'], prefix: false },
      ],
    ],
    ['"open', [{ words: ['open'], prefix: false }]],
    ['東京', [{ words: ['東', '京'], prefix: false }]],
    ['* - "" "…"', []],
    ['', []],
  ] as const)
    assert.deepEqual(readTextQuery(text), expected, text)
})

test('Q27 every phrase must be in one of the fields', () => {
  for (const [texts, query, expected] of [
    [['The sea side'], 'SEA', true],
    [['The seaside'], 'sea', false],
    [['The seaside'], 'sea*', true],
    [['The sea side'], '"sea side"', true],
    [['The sea, side'], '"sea side"', true],
    [['side of the sea'], '"sea side"', false],
    [['the sea', 'side'], '"sea side"', false],
    [['the sea', 'side'], 'sea side', true],
    [['the sea'], 'sea side', false],
    [['sea seasides'], '"sea sea*"', true],
    [['東京都庁'], '東京', true],
    [['京東'], '東京', false],
    [[], 'sea', false],
  ] as const)
    assert.equal(finds(texts, query), expected, `${texts.join('|')} ${query}`)
  const texts = textsIn({ a: ['the sea', { b: 'side' }], c: 5, d: null })
  assert.equal(matchesText([searchable(texts)], readTextQuery('side "the sea"')), true)
  assert.equal(matchesText([searchable(texts)], readTextQuery('"sea side"')), false)
  assert.equal(matchesText([searchable(texts)], readTextQuery('5')), false)
})

test('Q27 relevance grows with occurrences, and falls with the length of the text', () => {
  const relevance = (...texts: string[]) =>
    relevanceOf(
      texts.map(text => searchable([text])),
      readTextQuery('sea "red house"'),
    )
  assert.equal(relevance('nothing here'), 0)
  assert.equal(relevance(''), 0)
  assert.equal(relevance('sea'), 476_190)
  assert.ok(relevance('sea sea') > relevance('sea'))
  assert.ok(relevance('the sea') < relevance('sea'))
  assert.equal(relevance('sea', 'red house'), relevance('sea') + relevance('red house'))
})

test('Q27 what was found is between U+0002 and U+0003', () => {
  for (const [text, query, expected] of [
    ['The Sea, the seaside', 'sea', 'The [Sea], the seaside'],
    ['The Sea, the seaside', 'sea*', 'The [Sea], the [seaside]'],
    ['The red, red house', '"red house"', 'The red, [red house]'],
    ['E\u0301légance', 'elegance', '[E\u0301légance]'],
    ['Straße ﬁne', 'strasse fin*', '[Straße] [ﬁne]'],
    ['東京都', '京', '東[京]都'],
    ['a b a b a', '"a b a"', '[a b a b a]'],
    ['<b>sea</b> \u0002x\u0003', 'sea', '<b>[sea]</b> x'],
    ['no', 'sea', 'no'],
  ] as const)
    assert.equal(
      highlight(text, readTextQuery(query)).replaceAll('\u0002', '[').replaceAll('\u0003', ']'),
      expected,
      text,
    )
})

test('Q27 the words of a text are those at their places', () => {
  fc.assert(
    fc.property(arbitraryText, text => {
      const placed = placedWords(text)
      assert.deepEqual(
        placed.map(({ word }) => word),
        wordsOf(text),
        JSON.stringify(text),
      )
      let last = 0
      for (const { from, end } of placed) {
        assert.ok(from >= last && end > from && end <= text.length)
        last = from
      }
      for (const word of wordsOf(text)) assert.deepEqual(wordsOf(word), [word], JSON.stringify(text))
      assert.equal(spacedWords(spacedWords(text)), spacedWords(text))
    }),
    runs(5_000, 200_000),
  )
})
