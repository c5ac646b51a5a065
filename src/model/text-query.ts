import { exactText } from '../lib/json.ts'
import { type PlacedWord, placedWords, spacedWords, wordsOf } from '../lib/words.ts'
import type { TextQuery } from './plan.ts'

/** Searches for words (Q27, docs/decisions/0038): parsing them, and finding them in the texts of a record. */

type Phrase = TextQuery[number]

/** Maximum number of words in a search. */
export const maxWords = 50

/**
 * Parses a search: words, `prefix*`, and `"words in a row"`. Words that are written without a blank between
 * them are also in a row. The result is empty if the search has no words.
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

/** Returns the text that `searchable` words contain if a phrase is in them. */
export const patternOf = ({ words, prefix }: Phrase): string => ` ${words.join('  ')}${prefix ? '' : ' '}`

/** A separator that no phrase crosses. */
const betweenTexts = '\u0001'
const eachWord = new RegExp(`[^ ${betweenTexts}]+`, 'g')

/**
 * Returns the words of a field in the form that `matchesText` and `relevanceOf` take.
 * @param texts the field's text, or all texts in its JSON
 */
export const searchable = (texts: readonly string[]): string => texts.map(spacedWords).join(betweenTexts)

/** Returns all texts in a JSON value, at any depth. */
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

/** True if each phrase is in one of the fields. @param fields texts made by `searchable` */
export const matchesText = (fields: readonly string[], query: TextQuery): boolean =>
  query.every(phrase => {
    const pattern = patternOf(phrase)
    return fields.some(field => field.includes(pattern))
  })

/**
 * Returns the relevance of a match: a whole number that depends only on these texts.
 * @param fields texts made by `searchable`
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

/** Marks around a match (start and end of text). Clients replace them with the markup of their medium. */
const marks = { before: '\u0002', behind: '\u0003' } as const

/** Returns the text with each match between marks. Marks that the text already contains are removed. */
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

/** Returns the positions of all matches, with overlapping ones merged. */
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
