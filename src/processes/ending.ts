import { Problem } from '../http/problems.ts'
import { Overloaded } from '../lib/fair-queue.ts'
import { Interrupted, OperatorError } from '../model/errors.ts'
import type { EndState } from '../model/processes.ts'
import type { Ending } from '../storage/processes.ts'

/** Why the work of a process is to end. */
export class Ends extends OperatorError {
  readonly state: EndState | 'lost'

  constructor(state: EndState | 'lost', message: string) {
    super(message)
    this.state = state
  }
}

/** What may be told to those who read the process. Anything else is a fault of the service. */
export const isForReader = (fault: unknown): fault is Error =>
  fault instanceof OperatorError || fault instanceof Overloaded || fault instanceof Problem

/** The log names everything that is wrong, if that is more than one thing. */
export const linesOf = (fault: unknown): readonly string[] =>
  fault instanceof OperatorError && fault.details.length > 0
    ? [fault.message, ...fault.details].map(withoutNul)
    : []

export function endingOf(fault: unknown, { aborted, reason }: AbortSignal): Ending {
  if (aborted && reason instanceof Ends && reason.state !== 'lost')
    return { state: reason.state, result: null, fault: reason.message }
  if (fault instanceof Interrupted) return { state: 'interrupted', result: null, fault: fault.message }
  const why = isForReader(fault) ? fault.message : 'The service failed. Its log says why.'
  const more = linesOf(fault).length > 0
  return { state: 'failed', result: null, fault: withoutNul(more ? `${why} (the log names more)` : why) }
}

/** The store can't hold it. */
const withoutNul = (text: string): string => text.replaceAll('\0', '\uFFFD')
