import type * as re2js from 're2js'
import { plainNumber } from './decimals.ts'
import { Automaton, TooLarge } from './expression-automaton.ts'
import { repeatsAnchors, requiredText, sizeOf } from './expression-cost.ts'
import { printForPostgres } from './expression-dialects.ts'
import { type Expression, OnlyRe2, readExpression } from './expression-tree.ts'
import { numberText } from './json.ts'
import { onDemand } from './own-files.ts'

/**
 * Regular expressions sent by clients, matched in linear time, in RE2's dialect
 * (https://github.com/google/re2/wiki/Syntax, docs/decisions/0036). Only this file knows the library.
 */

const library = onDemand<typeof re2js>('re2js')

/** Maximum length in UTF-16 units. */
const maxLength = 1_000

/**
 * Maximum number of instructions of RE2's program. If no automaton can be made of it, each instruction may
 * cost one step per character.
 */
const maxProgram = 2_500

/** Maximum size of an expression; PostgreSQL takes long to prepare larger ones. */
const maxSizeForPostgres = 1_000

/**
 * @returns the reason why an expression is refused, with the position if it is known;
 * undefined if it is valid
 */
export function checkExpression(text: string): string | undefined {
  if (text.length > maxLength)
    return `a regular expression may have at most ${maxLength} characters, and this one has ${text.length}`
  try {
    const size = library().RE2JS.compile(text).programSize()
    if (size <= maxProgram) return undefined
    return `the regular expression repeats too much: it takes ${size} steps, and at most ${maxProgram} are allowed`
  } catch (error) {
    if (error instanceof library().RE2JSException) return explain(error, text)
    throw error
  }
}

/** Returns RE2's description of a syntax error, with the part of the expression that it concerns. */
function explain(error: re2js.RE2JSException, text: string): string {
  if (!(error instanceof library().RE2JSSyntaxException)) return error.message
  const [why, part] = [error.getDescription(), error.getPattern()]
  // For unpaired parentheses, RE2 gives the whole expression as the part.
  if (part === null || part === '' || / [()]$/.test(why)) return why
  const at = text.indexOf(part)
  const place = at !== -1 && text.indexOf(part, at + 1) === -1 ? ` at position ${at}` : ''
  return `${why}${place}: ${part}${hintOf(part)}`
}

const hintOf = (part: string) =>
  /^\(\?<?[=!]/.test(part)
    ? '; there is no look-ahead or look-behind'
    : /^\\[1-9]/.test(part)
      ? '; there are no references to groups'
      : ''

/** Finds texts that contain a match of an expression. */
export interface Matcher {
  test(text: string): boolean
  /** @param bytes has the text from `from` to below `end`, as well-formed UTF-8 */
  testBytes(bytes: Buffer, from: number, end: number): boolean
  /** A part that every text with a match contains; '' if none is known. */
  readonly required: string
}

/** Texts up to this length in UTF-16 units are written to the same buffer. */
const shortText = 4_096
const written = Buffer.alloc(3 * shortText)

/** @param text an expression that was checked */
export function compileExpression(text: string): Matcher {
  const tree = treeOf(text)
  let compiled: re2js.RE2JS | undefined
  const re2 = () => {
    compiled ??= library().RE2JS.compile(text)
    return compiled
  }
  if (typeof tree === 'string')
    return {
      test: candidate => re2().test(candidate),
      testBytes: (bytes, from, end) => re2().test(bytes.toString('utf8', from, end)),
      required: '',
    }
  const { text: required, isAll } = requiredText(tree)
  const automaton = automatonOf(tree)
  const testBytes: Matcher['testBytes'] = (bytes, from, end) =>
    automaton?.matches(bytes, from, end) ?? re2().test(bytes.toString('utf8', from, end))
  // Half of a surrogate pair must not match within a whole pair.
  const isText = isAll && required.isWellFormed()
  const test = (candidate: string) => {
    if (isText) return candidate.includes(required)
    if (required !== '' && !candidate.includes(required)) return false
    if (!candidate.isWellFormed()) return re2().test(candidate)
    const bytes = candidate.length <= shortText ? written : Buffer.allocUnsafe(3 * candidate.length)
    return testBytes(bytes, 0, bytes.write(candidate))
  }
  return { test, testBytes, required }
}

/** @returns undefined if it would be too large */
function automatonOf(tree: Expression): Automaton | undefined {
  try {
    return new Automaton(tree)
  } catch (error) {
    if (error instanceof TooLarge) return undefined
    throw error
  }
}

/** Returns an expression that matches only whole texts. @param text an expression that was checked */
export function wholeExpression(text: string): string {
  const whole = `^(?:${text})$`
  try {
    library().RE2JS.compile(whole)
    return whole
  } catch {
    // A quotation (\Q) may extend to the end of the expression.
    return `^(?:${text}\\E)$`
  }
}

/**
 * Returns the expression in the form for PostgreSQL's operator `~`. A column with a nondeterministic
 * collation needs COLLATE "C" there.
 * @returns undefined if PostgreSQL can't run it; `postgresRefusal` says why
 */
export function postgresExpression(text: string): string | undefined {
  const tree = treeOf(text)
  return typeof tree === 'string' || refusal(tree) !== undefined ? undefined : printForPostgres(tree)
}

/** @returns the feature of an expression that PostgreSQL lacks; undefined if there is none */
export function postgresRefusal(text: string): string | undefined {
  const tree = treeOf(text)
  return typeof tree === 'string' ? tree : refusal(tree)
}

function refusal(tree: Expression): string | undefined {
  if (sizeOf(tree) > maxSizeForPostgres) return 'the regular expression repeats too much for PostgreSQL'
  // PostgreSQL would have to tell such turns apart, and refuses the expression as too complex.
  if (repeatsAnchors(tree)) return 'PostgreSQL repeats no anchors, such as ^, $ and \\b'
  return undefined
}

/** @returns the tree, or the reason why there is none */
function treeOf(text: string): Expression | string {
  try {
    return readExpression(text)
  } catch (error) {
    if (error instanceof OnlyRe2) return `regular expressions of PostgreSQL have no ${error.message}`
    throw error
  }
}

/**
 * Returns the text of a value that regular expressions are matched with (Q20). Texts stay as they are,
 * numbers have all their digits and no exponent, and structures are written as PostgreSQL writes `jsonb`.
 * @param value a JSON value other than null
 */
export const matchedText = (value: unknown): string => (typeof value === 'string' ? value : printed(value))

function printed(value: unknown): string {
  const number = numberText(value)
  if (number !== undefined)
    return typeof value === 'number' && !number.includes('e') ? number : plainNumber(number)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(printed).join(', ')}]`
  const members = Object.entries(value).toSorted(([one], [other]) => compareKeys(one, other))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}: ${printed(member)}`).join(', ')}}`
}

/** Compares keys by their length in UTF-8, and then by their bytes. */
function compareKeys(one: string, other: string): number {
  const [first, second] = [Buffer.from(one), Buffer.from(other)]
  return first.length - second.length || Buffer.compare(first, second)
}
