import { partsOf, type Row, type Scope, type Test } from './query-oracle.ts'
import { type Place, placeOf, textOf, valueAt } from './query-values.ts'
import { type Json, operatorOf } from './raw-json.ts'

/**
 * A phrase of a text search. This part of the oracle (query-oracle.ts) knows the words that the generators
 * search for.
 */
interface Phrase {
  readonly words: readonly string[]
  readonly prefix: boolean
}

/** Scripts in which each character is a word. */
const single = '\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Mymr}\\p{sc=Khmr}'
const word = new RegExp(`[${single}]|(?:(?![${single}])[\\p{L}\\p{M}\\p{N}])+`, 'gu')

/**
 * Splits a text into words. This is exact for Latin script; other parts of a text match none of the searched
 * words.
 */
const wordsOf = (text: string): readonly string[] =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .match(word) ?? []

function phrasesIn(text: string): readonly Phrase[] {
  const phrases = [...text.matchAll(/"([^"]*)"(\*?)|([^\s"]+)/g)].map(([, quoted, star, plain]) => ({
    words: wordsOf(quoted ?? plain ?? ''),
    prefix: star === '*' || (plain ?? '').endsWith('*'),
  }))
  return [...new Map(phrases.map(phrase => [JSON.stringify(phrase), phrase])).values()]
}

/** Counts the occurrences of a phrase. */
function occurrences(all: readonly string[], { words, prefix }: Phrase): number {
  let count = 0
  for (let at = 0; at + words.length <= all.length; ) {
    const isThere = words.every((word, n) => {
      const found = all[at + n] ?? ''
      return prefix && n === words.length - 1 ? found.startsWith(word) : found === word
    })
    if (isThere) count++
    at += isThere ? words.length : 1
  }
  return count
}

function placesOf(node: Json, { fields }: Pick<Scope, 'fields'>): readonly Place[] {
  if (node.kind === 'array') return node.items.map(one => placeOf(textOf(one), fields))
  if (textOf(node) !== '*') return [placeOf(textOf(node), fields)]
  return fields
    .filter(({ type, related }) => !related && (type === 'text' || type === 'json'))
    .map(field => ({ ...field, path: [] }))
}

/**
 * Returns the words of each text: a text field is one text, and in JSON each text counts separately, at any
 * depth.
 */
function textsAt(row: Row, place: Place): readonly (readonly string[])[] {
  const value = valueAt(row, place)
  if (!value) return []
  return (place.type === 'json' ? textsIn(value) : [textOf(value)]).map(wordsOf)
}

function textsIn(json: Json): readonly string[] {
  if (json.kind === 'array') return json.items.flatMap(textsIn)
  if (json.kind === 'object') return [...json.members.values()].flatMap(textsIn)
  return json.kind === 'text' ? [json.text] : []
}

/**
 * Returns true if every phrase is in one of the fields, and undefined (unknown) if none of them has a value.
 */
export function search(node: Json, scope: Scope): Test {
  const [, where, text] = partsOf(node)
  const places = placesOf(where as Json, scope)
  const phrases = phrasesIn(textOf(text as Json))
  return row => {
    if (places.every(place => valueAt(row, place) === undefined)) return undefined
    const texts = places.flatMap(place => textsAt(row, place))
    return phrases.every(phrase => texts.some(words => occurrences(words, phrase) > 0))
  }
}

/** Returns the text searches in a condition, except negated ones. */
function searches(node: Json, negated: boolean): readonly Json[] {
  const operator = operatorOf(node)
  if (operator === 'match') return negated ? [] : [node]
  if (operator !== 'and' && operator !== 'or' && operator !== 'not') return []
  return partsOf(node).flatMap(one => searches(one, negated !== (operator === 'not')))
}

/**
 * Returns a function for the relevance of a row. All fields and phrases of a condition count as one search.
 */
export function relevance(condition: Json | undefined, scope: Pick<Scope, 'fields'>): (row: Row) => number {
  const all = condition ? searches(condition, false) : []
  const places = new Map<string, Place>()
  const phrases = new Map<string, Phrase>()
  for (const node of all) {
    const [, where, text] = partsOf(node)
    for (const place of placesOf(where as Json, scope))
      places.set(JSON.stringify([place.name, place.path]), place)
    for (const phrase of phrasesIn(textOf(text as Json))) phrases.set(JSON.stringify(phrase), phrase)
  }
  return row => {
    let sum = 0
    for (const place of places.values()) {
      const texts = textsAt(row, place)
      const length = texts.reduce((all, words) => all + words.length, 0)
      for (const phrase of phrases.values()) {
        const n = texts.reduce((all, words) => all + occurrences(words, phrase), 0)
        sum += Math.floor((10_000_000 * n) / (10 * n + 10 + length))
      }
    }
    return sum
  }
}

/** Texts that the generators search for. */
export const searched = [
  ...['a', 'A', 'b', 'ab', 'ä', 'zebra', 'apple', 'str*', 'a*', '5', '2020', 'strasse', 'null'],
  ...['a b', '"a b"', 'a "a b"', '2020-06-30', '"2020 06"*', 'test/1', 'made by'],
] as const
