import { onlyOne } from './code-points.ts'
import { type Expression, hasPlace } from './expression-tree.ts'

/** The size of expressions, and what all their matches have in common. */

/** True if every match takes at least one character. */
function takesSome(expression: Expression): boolean {
  switch (expression.kind) {
    case 'one of':
      return true
    case 'at':
      return false
    case 'sequence':
      return expression.of.some(takesSome)
    case 'choice':
      return expression.of.every(takesSome)
    case 'repeat':
      return expression.min > 0 && takesSome(expression.of)
  }
}

/** True if a turn of a repetition may consist of anchors alone, as in `(a|^)*`. */
export function repeatsAnchors(expression: Expression): boolean {
  switch (expression.kind) {
    case 'one of':
    case 'at':
      return false
    case 'repeat': {
      const { of, max } = expression
      return repeatsAnchors(of) || (max > 1 && hasPlace(of) && !takesSome(of))
    }
    default:
      return expression.of.some(repeatsAnchors)
  }
}

/** True if the expression can match only at the beginning of the text. */
export function startsText(expression: Expression): boolean {
  if (expression.kind === 'at') return expression.place === 'start of text'
  if (expression.kind === 'sequence') return expression.of[0] !== undefined && startsText(expression.of[0])
  return expression.kind === 'choice' && expression.of.every(startsText)
}

/**
 * Returns an upper bound for the number of instructions of an expression, with its repetitions written out.
 */
export function sizeOf(expression: Expression): number {
  switch (expression.kind) {
    case 'one of':
    case 'at':
      return 1
    case 'sequence':
    case 'choice':
      return expression.of.reduce((sum, item) => sum + sizeOf(item) + 1, 1)
    case 'repeat': {
      const { min, max } = expression
      const times = max === Infinity ? min + 1 : max
      return Math.max(1, times) * (sizeOf(expression.of) + 1)
    }
  }
}

/**
 * Returns the longest text that every match contains, or '' if none is known. `isAll` is true if every text
 * that contains it matches.
 */
export function requiredText(expression: Expression): { readonly text: string; readonly isAll: boolean } {
  let longest = ''
  let run = ''
  let isAll = true
  const end = () => {
    if (run.length > longest.length) longest = run
    run = ''
  }
  const visit = (part: Expression): void => {
    const code = part.kind === 'one of' ? onlyOne(part.set) : undefined
    if (code !== undefined) run += String.fromCodePoint(code)
    else if (part.kind === 'sequence') part.of.forEach(visit)
    else {
      isAll = false
      end()
      if (part.kind !== 'repeat' || part.min === 0) return
      visit(part.of)
      end()
    }
  }
  visit(expression)
  end()
  return { text: longest, isAll }
}
