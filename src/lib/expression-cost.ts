import { onlyOne } from './code-points.ts'
import { type Expression, hasPlace } from './expression-tree.ts'

/** Upper bounds for the cost of matching, and the texts that matches must contain. */

interface Cost {
  /** Maximum number of ways in which a backtracking matcher can match the expression from one position. */
  readonly ways: number
  /** Maximum number of steps to try all these ways. */
  readonly steps: number
  /** True if each way takes at least one character. */
  readonly moves: boolean
}

/**
 * Returns the maximum number of steps of a backtracking matcher for a text of this length.
 * It may try each position.
 */
export function maxSteps(expression: Expression, length: number): number {
  const { steps } = costOf(expression, length)
  return startsText(expression) ? length + steps : (length + 1) * steps
}

function costOf(expression: Expression, length: number): Cost {
  switch (expression.kind) {
    case 'one of':
      return { ways: 1, steps: 1, moves: true }
    case 'at':
      return { ways: 1, steps: 1, moves: false }
    case 'sequence': {
      let [ways, steps, moves] = [1, 1, false]
      for (const item of expression.of) {
        const cost = costOf(item, length)
        steps += ways * cost.steps
        ways *= cost.ways
        moves ||= cost.moves
      }
      return { ways, steps, moves }
    }
    case 'choice': {
      const branches = expression.of.map(branch => costOf(branch, length))
      return {
        ways: branches.reduce((sum, { ways }) => sum + ways, 0),
        steps: branches.reduce((sum, { steps }) => sum + steps + 1, 0),
        moves: branches.every(({ moves }) => moves),
      }
    }
    case 'repeat':
      return repeated(costOf(expression.of, length), expression, length)
  }
}

function repeated(
  { ways: each, steps: eachSteps, moves }: Cost,
  { min, max }: { readonly min: number; readonly max: number },
  length: number,
): Cost {
  // The number of turns is bounded: the text ends, and an empty turn is not repeated
  // unless `min` requires it.
  const turns = Math.min(max, moves ? length + 1 : Math.max(min, length) + 1)
  let [reached, ways, steps] = [1, min === 0 ? 1 : 0, 1]
  for (let turn = 1; turn <= turns && Number.isFinite(steps); turn++) {
    steps += reached * eachSteps
    reached *= each
    if (turn >= min) ways += reached
  }
  return { ways: Math.max(1, ways), steps, moves: moves && min > 0 }
}

/** True if a turn of a repetition may consist of anchors alone, as in `(a|^)*`. */
export function repeatsAnchors(expression: Expression): boolean {
  switch (expression.kind) {
    case 'one of':
    case 'at':
      return false
    case 'repeat': {
      const { of, max } = expression
      return repeatsAnchors(of) || (max > 1 && hasPlace(of) && !costOf(of, 1).moves)
    }
    default:
      return expression.of.some(repeatsAnchors)
  }
}

/** True if the expression can match only at the beginning of the text. */
function startsText(expression: Expression): boolean {
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
