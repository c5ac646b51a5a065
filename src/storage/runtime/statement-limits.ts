import { Overloaded } from '../../lib/fair-queue.ts'

/** What a thread looks at now and then during a statement: not 0 when the client has disconnected. */
export type Stop = Int32Array<SharedArrayBuffer>

let stop: Stop | null = null
let limit = Number.POSITIVE_INFINITY
let deadline = Number.POSITIVE_INFINITY

/** @param timeout of each call of `limited` in this thread, in ms */
export function limitStatements(timeout: number): void {
  limit = timeout
}

/**
 * Runs statements that ask `mayGoOn`.
 * @param whose the flag of the client, if work for it may stop
 * @throws Overloaded if they take too long; Error if the client has disconnected
 */
export function limited<T>(whose: Stop | null, work: () => T): T {
  stop = whose
  deadline = performance.now() + limit
  mayGoOn()
  return work()
}

/** For `OpenOptions`: statements of one thread run one after the other. */
export function mayGoOn(): boolean {
  if (stop !== null && Atomics.load(stop, 0) !== 0) throw new Error('the client has disconnected')
  if (performance.now() < deadline) return true
  throw new Overloaded(
    `It would take longer than ${limit / 1000} seconds. Ask for less, in another order, or with a smaller offset.`,
  )
}
