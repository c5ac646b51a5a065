import type { Client } from '../../lib/fair-queue.ts'
import type { Stop } from './statement-limits.ts'

/** One for each connection, like its signal. */
const stops = new WeakMap<AbortSignal, Stop>()

export function stopOf(gone: AbortSignal): Stop {
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
