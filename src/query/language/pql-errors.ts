import { nearest } from '../../lib/nearest.ts'
import { type Place, QueryError, type QueryMembers } from './node.ts'

/** The token at a place in PQL. */
export interface Found {
  readonly kind: 'word' | 'text' | 'number' | 'symbol' | 'broken' | 'end'
  /** A text is without its quotes and escapes; of a broken token, this says what it is. */
  readonly text: string
}

/** Sentences on how to write what was probably meant. */
const hints = {
  quotes: 'Texts need quotes.',
  letters: 'A number has no letters, and texts need quotes.',
  straight: 'Quotes are straight: " or \'.',
  null: 'Write "is null" or "is not null" after the field.',
  brace: 'It closes nothing.',
  case: 'An expression that finds letters in either case begins with (?i): ~ "(?i)expression".',
} as const
export type Hint = keyof typeof hints

/** Faults of tokens that can't be read. */
export const broken = {
  unclosed: 'a string without a closing quote',
  escape:
    'a string with a line break or another control character, or a backslash that begins no escape of JSON (double it, or use single quotes)',
} as const

/** Words and signs of other languages, with those of PQL. */
const habits: ReadonlyMap<string, string> = new Map([
  ['==', '='],
  ['===', '='],
  ['=~', '~'],
  ['<>', '!='],
  ['!==', '!='],
  ['=>', '>='],
  ['=<', '<='],
  ['&&', 'and'],
  ['&', 'and'],
  ['||', 'or'],
  ['|', 'or'],
  ['like', '~'],
  ['ilike', '~'],
  ['regexp', '~'],
  ['not', '!'],
  ['order_by', 'order by'],
  ['group_by', 'group by'],
])

/**
 * Makes an error for a token that isn't one of the expected ones.
 * @param expected tokens that would be right at that place
 */
export function unexpected(
  pql: string,
  found: Found,
  at: Place,
  expected: readonly string[],
  hint?: Hint,
): QueryError {
  const meant = hint === undefined ? meantBy(found, expected) : undefined
  const what = found.kind === 'broken' ? found.text : nameOf(found)
  const right = expected.length === 0 || found.kind === 'broken' ? '' : `, expected ${listOf(expected)}`
  const help = hint ? hints[hint] : meant === undefined ? '' : `Did you mean "${meant}"?`
  const isUnclosed = found.text === broken.unclosed
  const mistake = found.kind !== 'broken' ? hint : isUnclosed ? 'unclosed' : 'escape'
  const members: QueryMembers = {
    found: found.kind === 'broken' ? found.text : shortened(found.text),
    expected,
    ...(meant !== undefined && { nearest: meant }),
    ...(mistake !== undefined && { mistake }),
  }
  return inPql(pql, at, `found ${what}${right}.${help === '' ? '' : ` ${help}`}`, members)
}

/** Makes an error for a place in PQL. */
export function inPql(pql: string, at: Place, what: string, members: QueryMembers = {}): QueryError {
  const where = 'line' in at ? `Line ${at.line}, column ${at.column}: ` : ''
  return new QueryError(`${where}${what}`, at, { ...members, marker: markerOf(pql, at) })
}

/**
 * Guesses the expected word that was meant. Keywords are in lower case only; short words resemble all of
 * them.
 */
function meantBy(found: Found, expected: readonly string[]): string | undefined {
  if (found.kind !== 'word' && found.kind !== 'symbol') return undefined
  const word = found.text.length > 20 ? '' : found.text.toLowerCase()
  const [first] = [word, habits.get(word)].filter(one => one !== undefined && expected.includes(one))
  if (first !== undefined) return first
  const begun = expected.find(one => one.startsWith(`${word} `))
  if (begun !== undefined && word !== '') return begun
  return word.length < 4 ? undefined : nearest(word, expected.filter(isKeyword))
}

const isKeyword = (name: string) => /^[a-z]+( [a-z]+)?$/.test(name) && name.length > 3

function nameOf({ kind, text }: Found): string {
  if (kind === 'end') return 'the end'
  return kind === 'text' ? `the text ${JSON.stringify(shortened(text))}` : `"${shortened(text)}"`
}

const shortened = (text: string) => (text.length > 50 ? `${text.slice(0, 50)}…` : text)

const listOf = (names: readonly string[]) =>
  names.length === 1 ? `${names[0]}` : `one of: ${names.join('  ')}`

/** Maximum length of the line shown before and after the place, in UTF-16 units. */
const around = 40

/**
 * Shows a place in PQL in two lines: the part of the query's line around it, and a `^` under the place.
 * @returns undefined for a place in an AST
 */
export function markerOf(text: string, place: Place): string | undefined {
  if (!('line' in place)) return undefined
  let start = 0
  for (let line = 1; line < place.line; line++) start = text.indexOf('\n', start) + 1
  let at = start
  for (let column = 1; column < place.column; column++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  const end = text.indexOf('\n', start)
  const lineEnd = end === -1 ? text.length : end
  const before = printable(text.slice(Math.max(start, at - around), at))
  const behind = printable(text.slice(at, Math.min(lineEnd, at + around)))
  const cutBefore = at - around > start ? '…' : ''
  const cutBehind = at + around < lineEnd ? '…' : ''
  // A surrogate pair takes one column.
  const columns = [...before].length + cutBefore.length
  return `${cutBefore}${before}${behind}${cutBehind}\n${' '.repeat(columns)}^`
}

/** Replaces tabs and other control characters, which would shift the `^`. */
const printable = (text: string) => text.toWellFormed().replace(/\p{Cc}/gu, ' ')
