import { nearest } from '../../lib/nearest.ts'
import { markerOf } from './marker.ts'
import { type Place, QueryError } from './node.ts'

/** The token at a place in PQL. */
export interface Found {
  readonly kind: 'word' | 'text' | 'number' | 'symbol' | 'broken' | 'end'
  /** A text is without its quotes and escapes; of a broken token, this says what it is. */
  readonly text: string
}

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
  ['regexp', '~'],
  ['not', '!'],
  ['order_by', 'order by'],
  ['group_by', 'group by'],
])

/**
 * Makes an error for a token that isn't one of the expected ones.
 * @param expected tokens that would be right at that place
 * @param hint a sentence on how to write what was probably meant
 */
export function unexpected(
  source: string,
  found: Found,
  at: Place,
  expected: readonly string[],
  hint?: string,
): QueryError {
  const meant = hint === undefined ? meantBy(found, expected) : undefined
  const what = found.kind === 'broken' ? found.text : nameOf(found)
  const right = expected.length === 0 || found.kind === 'broken' ? '' : `, expected ${listOf(expected)}`
  const help = hint ?? (meant === undefined ? '' : `Did you mean "${meant}"?`)
  return inPql(source, at, `found ${what}${right}.${help === '' ? '' : ` ${help}`}`, {
    found: found.kind === 'broken' ? found.text : shortened(found.text),
    expected,
    ...(meant !== undefined && { nearest: meant }),
  })
}

/** Makes an error for a place in PQL. */
export function inPql(
  source: string,
  at: Place,
  what: string,
  members: Readonly<Record<string, unknown>> = {},
): QueryError {
  const where = 'line' in at ? `Line ${at.line}, column ${at.column}: ` : ''
  return new QueryError(`${where}${what}`, at, { ...members, marker: markerOf(source, at) })
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
