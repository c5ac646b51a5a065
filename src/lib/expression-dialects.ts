import { type CodePoints, complement, maxCodePoint, onlyOne, wordCharacters } from './code-points.ts'
import type { Expression, Place } from './expression-tree.ts'

/**
 * The spelling of expressions for another engine. It depends neither on flags and locales nor on the engine's
 * meaning of `.` and `\w`.
 */
interface Dialect {
  /** Writes one code point. */
  readonly character: (code: number) => string
  readonly places: Readonly<Record<Place, string>>
  /** Maximum number of repetitions in a quantifier. */
  readonly maxTimes: number
}

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0')

/**
 * Writes a code point in PostgreSQL's "advanced" dialect
 * (https://www.postgresql.org/docs/18/functions-matching.html#POSIX-SYNTAX-DETAILS).
 */
const postgresCharacter = (code: number) =>
  isPlain(code) ? String.fromCodePoint(code) : code <= 0xffff ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`

/** A word character, spelled out because PostgreSQL's own word boundary depends on the locale. */
const word = `[${rangesOf(wordCharacters, postgresCharacter)}]`

const postgres: Dialect = {
  character: postgresCharacter,
  places: {
    'start of text': '(?:^)',
    'end of text': '(?:$)',
    'start of line': '(?:^|(?<=\\n))',
    'end of line': '(?:$|(?=\\n))',
    'word boundary': `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`,
    'no word boundary': `(?:(?<=${word})(?=${word})|(?<!${word})(?!${word}))`,
  },
  // DUPMAX in src/include/regex/regex.h of PostgreSQL.
  maxTimes: 255,
}

export const printForPostgres = (expression: Expression): string => print(expression, postgres)

function print(expression: Expression, dialect: Dialect): string {
  switch (expression.kind) {
    case 'one of':
      return printSet(expression.set, dialect)
    case 'at':
      return dialect.places[expression.place]
    case 'sequence':
      return expression.of
        .map(item => (item.kind === 'choice' ? `(?:${print(item, dialect)})` : print(item, dialect)))
        .join('')
    case 'choice':
      return expression.of.map(branch => print(branch, dialect)).join('|')
    case 'repeat': {
      const { of, min, max } = expression
      const text = print(of, dialect)
      return repeat(of.kind === 'one of' ? text : `(?:${text})`, min, max, dialect.maxTimes)
    }
  }
}

/** Writes a repetition with as many quantifiers as it needs. */
function repeat(text: string, min: number, max: number, maxTimes: number): string {
  if (max === 0) return '(?:)'
  if (min > maxTimes) return `${text}{${maxTimes}}${repeat(text, min - maxTimes, max - maxTimes, maxTimes)}`
  if (max === Infinity) return `${text}{${min},}`
  if (max <= maxTimes) return `${text}{${min},${max}}`
  const times = Math.max(min, 1)
  return `${text}{${min},${Math.max(times, maxTimes)}}${repeat(text, 0, max - Math.max(times, maxTimes), maxTimes)}`
}

function printSet(set: CodePoints, { character }: Dialect): string {
  const only = onlyOne(set)
  if (only !== undefined) return character(only)
  const isWide = set[0]?.[0] === 0 && set.at(-1)?.[1] === maxCodePoint
  // A wide set is written as its complement, which is shorter.
  const rest = complement(set)
  if (isWide && rest.length > 0) return `[^${rangesOf(rest, character)}]`
  return `[${rangesOf(set, character)}]`
}

function rangesOf(set: CodePoints, character: (code: number) => string): string {
  return set
    .map(([from, to]) => (from === to ? character(from) : `${character(from)}-${character(to)}`))
    .join('')
}

/** True for ASCII letters and digits, which mean themselves in every dialect. */
function isPlain(code: number): boolean {
  return code < 0x80 && /[0-9A-Za-z]/.test(String.fromCodePoint(code))
}
