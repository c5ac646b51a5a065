import { exactText } from '../lib/json.ts'
import { type PlacedWord, placedWords, spacedWords, wordsOf } from '../lib/words.ts'
import type { TextQuery } from './plan.ts'

/** A search for words (Q27, docs/decisions/0038): reading it, and what it finds in the texts of a record. */

type Phrase = TextQuery[number]

/** A search has at most so many words. */
export const maxWords = 50

/**
 * What a client wrote to search for: words, `prefix*`, and `"words in a row"`. What is written without a blank is in a row,
 * too. Empty: it has no words.
 */
export function readTextQuery(text: string): TextQuery {
  const phrases = new Map<string, Phrase>()
  for (const [, quoted, star, plain = ''] of text.matchAll(/"([^"]*)(?:"(\*?)|$)|([^\s"]+)/g)) {
    const words = wordsOf(quoted ?? plain)
    const prefix = star === '*' || (quoted ?? plain).endsWith('*')
    if (words.length > 0) phrases.set(JSON.stringify([words, prefix]), { words, prefix })
  }
  return [...phrases.values()]
}

/** What the words of a text contain where a phrase is in it. */
export const patternOf = ({ words, prefix }: Phrase): string => ` ${words.join('  ')}${prefix ? '' : ' '}`

/** No phrase goes beyond it. */
const betweenTexts = '\u0001'
const eachWord = new RegExp(`[^ ${betweenTexts}]+`, 'g')

/** The words of a field as `matchesText` and `relevanceOf` take them. @param texts its text, or all texts in its JSON */
export const searchable = (texts: readonly string[]): string => texts.map(spacedWords).join(betweenTexts)

/** All texts in a value of JSON, at any depth. */
export function textsIn(value: unknown): string[] {
  const texts: string[] = []
  const open = [value]
  while (open.length > 0) {
    const one = open.pop()
    if (typeof one === 'string') texts.push(one)
    else if (typeof one === 'object' && one !== null && exactText(one) === undefined)
      for (const inner of Object.values(one)) open.push(inner)
  }
  return texts
}

/** Whether each phrase is in one of the fields. @param fields as `searchable` makes them */
export const matchesText = (fields: readonly string[], query: TextQuery): boolean =>
  query.every(phrase => {
    const pattern = patternOf(phrase)
    return fields.some(field => field.includes(pattern))
  })

/**
 * How well they match: a whole number that depends on these texts alone.
 * @param fields as `searchable` makes them
 */
export function relevanceOf(fields: readonly string[], query: TextQuery): number {
  const patterns = query.map(patternOf)
  let relevance = 0
  for (const field of fields) {
    const words = field.match(eachWord)?.length ?? 0
    for (const pattern of patterns) {
      const found = field.split(pattern).length - 1
      relevance += Math.floor((10_000_000 * found) / (10 * found + 10 + words))
    }
  }
  return relevance
}

/** Around what was found (start and end of text): clients put what their medium needs in their place. */
const marks = { before: '\u0002', behind: '\u0003' } as const

/** The text with what was found between marks. Marks that it has itself are left out. */
export function highlight(text: string, query: TextQuery): string {
  const clean = text.replaceAll(marks.before, '').replaceAll(marks.behind, '')
  const words = placedWords(clean)
  let marked = ''
  let at = 0
  for (const [from, end] of spansOf(words, query)) {
    marked += clean.slice(at, from) + marks.before + clean.slice(from, end) + marks.behind
    at = end
  }
  return marked + clean.slice(at)
}

/** Where something was found, without overlaps. */
function spansOf(words: readonly PlacedWord[], query: TextQuery): (readonly [number, number])[] {
  const spans: [number, number][] = []
  for (const [at, { from }] of words.entries()) {
    const length = Math.max(0, ...query.map(phrase => (isAt(words, at, phrase) ? phrase.words.length : 0)))
    const end = words[at + length - 1]?.end
    if (length === 0 || end === undefined) continue
    const last = spans.at(-1)
    if (last && from < last[1]) last[1] = Math.max(last[1], end)
    else spans.push([from, end])
  }
  return spans
}

const isAt = (words: readonly PlacedWord[], at: number, { words: wanted, prefix }: Phrase): boolean =>
  wanted.every((one, n) => {
    const word = words[at + n]?.word
    return prefix && n === wanted.length - 1 ? word?.startsWith(one) : word === one
  })
