import { OperatorError } from '../lib/errors.ts'
import type { Recipe } from '../model/recipes.ts'

interface About {
  /** The line of the unpacked file, from 1. */
  readonly line?: number | undefined
  readonly field?: string
  readonly repair?: Recipe
}

/** The import can't be done. The message names the line if there is one, and says what would be right. */
export class ImportError extends OperatorError {
  /** The message without the line. */
  readonly fault: string
  readonly line: number | undefined
  /** The field or column that the error concerns. */
  readonly field: string | undefined
  /** A change of the recipe with which the fault would be none. */
  readonly repair: Recipe | undefined

  constructor(fault: string, { line, field, repair, ...options }: ErrorOptions & About = {}) {
    super(line === undefined ? fault : `line ${line}: ${fault}`, options)
    this.fault = fault
    this.line = line
    this.field = field
    this.repair = repair
  }
}

/** Maximum characters of a name or a value that a message shows. */
const maxShown = 60

/** Returns a name or a value from a file for a message. It is cut, because it may be as long as the file. */
export function shown(value: unknown): string {
  const whole = typeof value === 'string' ? value : undefined
  const text =
    JSON.stringify(whole !== undefined && whole.length > maxShown ? `${whole.slice(0, maxShown)}…` : value) ??
    ''
  return whole === undefined && text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}
