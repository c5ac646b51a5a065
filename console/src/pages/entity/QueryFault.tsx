import type { JSX } from 'preact'
import { CarrelProblem } from '../../api.ts'
import { t } from '../../i18n/i18n.ts'
import { Notice } from '../../parts/states.tsx'

/** What is wrong with a query, and where in it. */
export interface Fault {
  readonly message: string
  /** The line with the place, and how far it is from its beginning. */
  readonly line?: string
  readonly column?: number
  /** From the beginning of what was typed. */
  readonly at?: number
  readonly nearest?: string
}

/** @param prefix what was sent before the condition that somebody has typed */
export function faultOf(problem: unknown, condition: string, prefix: string): Fault | undefined {
  if (!(problem instanceof CarrelProblem) || problem.members.parameter !== 'query') return undefined
  const { line, column, nearest } = problem.members
  const message = problem.detail.replace(
    /^The query is wrong( at line \d+, column \d+:|\. Line \d+, column \d+:)\s*/,
    '',
  )
  if (typeof line !== 'number' || typeof column !== 'number') return { message }
  const lines = condition.split('\n')
  const shift = line === 1 ? prefix.length : 0
  const place = Math.max(0, column - 1 - shift)
  const text = lines[line - 1] ?? ''
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  return {
    message,
    line: text,
    column: Math.min(place, text.length),
    at: Math.min(before + place, condition.length),
    ...(typeof nearest === 'string' ? { nearest } : {}),
  }
}

/** The line with the wrong place underlined, what is wrong, and what was perhaps meant. */
export function QueryFault({
  fault,
  onNearest,
}: {
  readonly fault: Fault
  readonly onNearest?: ((nearest: string) => void) | undefined
}): JSX.Element {
  const { message, line, column = 0, nearest } = fault
  // The word at the place; at the end, where something is missing, a space.
  const wrong = /^(?:"[^"]*"?|[\w.-]+|\S)/.exec(line?.slice(column) ?? '')?.[0] ?? ' '
  return (
    <Notice tone="bad">
      {line !== undefined && (
        <pre class="place">
          {line.slice(0, column)}
          <mark>{wrong}</mark>
          {line.slice(column + wrong.length)}
        </pre>
      )}
      <p>{message}</p>
      {nearest && onNearest && (
        <button type="button" class="link-button" onClick={() => onNearest(nearest)}>
          {t('query.use', { value: nearest })}
        </button>
      )}
    </Notice>
  )
}
