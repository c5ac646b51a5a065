import { type Client, Overloaded } from '../../lib/fair-queue.ts'

/** A flag that a thread reads now and then during a statement: not 0 if the client has disconnected. */
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
  try {
    mayGoOn()
    return work()
  } finally {
    stop = null
    deadline = Number.POSITIVE_INFINITY
  }
}

/**
 * Asked now and then by work that may take long. The statements of one thread run one after the other.
 * @returns true while that of `limited` may go on, and outside of it
 * @throws as `limited`
 */
export function mayGoOn(): boolean {
  if (stop !== null && Atomics.load(stop, 0) !== 0) throw new Error('the client has disconnected')
  if (performance.now() < deadline) return true
  throw new Overloaded(
    `It would take longer than ${limit / 1000} seconds. Ask for less, in another order, or with a smaller offset.`,
  )
}

/** One flag for each connection, like its signal. */
const stops = new WeakMap<AbortSignal, Stop>()

function stopOf(gone: AbortSignal): Stop {
  const known = stops.get(gone)
  if (known) return known
  const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  gone.addEventListener('abort', () => Atomics.store(stop, 0, 1), { once: true })
  stops.set(gone, stop)
  return stop
}

/** Tells the thread when the client disconnects. @throws the reason of its signal */
export async function whilePresent<T>({ signal }: Client, work: (stop: Stop) => Promise<T>): Promise<T> {
  const gone = signal()
  gone.throwIfAborted()
  try {
    return await work(stopOf(gone))
  } catch (error) {
    throw gone.aborted ? gone.reason : error
  }
}

/** Approximate size of a piece of a listing in bytes (Q10). A larger record is a piece of its own. */
export const pieceBytes = 128 * 1024
