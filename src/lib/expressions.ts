import type * as re2js from 're2js'
import { maxSteps, repeatsAnchors, requiredText, sizeOf } from './expression-cost.ts'
import { printForPostgres, printForV8 } from './expression-dialects.ts'
import { type Expression, hasPlace, OnlyRe2, readExpression } from './expression-tree.ts'
import { onDemand } from './memo.ts'

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

/**
 * Maximum number of V8's steps for each character of a text. RE2 matches about twenty characters in the
 * time of that many steps.
 */
const maxStepsPerCharacter = 200

/** Maximum length of a text that V8 matches. RE2 matches all longer ones. */
const maxTextForV8 = 100_000

/** Maximum sizes of an expression; V8 and PostgreSQL take long to prepare larger ones. */
const maxSizeForV8 = 500
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

/**
 * Returns a function that is true for texts that contain a match.
 * @param text an expression that was checked
 */
export function compileExpression(text: string): (text: string) => boolean {
  const expression = library().RE2JS.compile(text)
  const tree = treeOf(text)
  if (typeof tree === 'string') return candidate => expression.test(candidate)
  const { text: required, isAll } = requiredText(tree)
  // Half of a surrogate pair must not match within a whole pair.
  if (isAll && required.isWellFormed()) return candidate => candidate.includes(required)
  const short = longestForV8(tree)
  const v8 = short < 0 ? undefined : new RegExp(printForV8(tree), 'v')
  return candidate => {
    if (required !== '' && !candidate.includes(required)) return false
    return v8 !== undefined && candidate.length <= short ? v8.test(candidate) : expression.test(candidate)
  }
}

/**
 * Returns a part that every text with a match contains; '' if there is none.
 * @param text an expression that was checked
 */
export function requiredBy(text: string): string {
  const tree = treeOf(text)
  return typeof tree === 'string' ? '' : requiredText(tree).text
}

/**
 * Returns the maximum length of a text that V8 may match. Expressions with `\B` are left to RE2, because V8
 * also finds `\B` within a surrogate pair.
 * @returns -1 if V8 may match none
 */
function longestForV8(tree: Expression): number {
  if (sizeOf(tree) > maxSizeForV8 || hasPlace(tree, 'no word boundary')) return -1
  const isQuick = (length: number) => maxSteps(tree, length) <= maxStepsPerCharacter * (length + 1)
  let [longest, tooLong] = [-1, maxTextForV8]
  while (tooLong - longest > 1) {
    const middle = (longest + tooLong) >> 1
    if (isQuick(middle)) longest = middle
    else tooLong = middle
  }
  return longest
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
