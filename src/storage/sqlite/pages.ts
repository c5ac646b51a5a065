import type { Client } from '../../lib/fair-queue.ts'
import type { TablePlan } from './compile.ts'
import type { ReaderThreads } from './reader-threads.ts'
import type { Stop } from './statement-limits.ts'

/** A page that reads more rows than this, those that it skips or sorts included, may take long. */
export const nearby = 10_000

/** What a page is of. */
interface Wanted {
  /** The store. */
  readonly file: string
  readonly plan: TablePlan
  readonly separator: string
  /** Whether it is known to take long. Else its thread finds out how many rows it reads. */
  readonly isLong: boolean
}

/** Reads a short page on a reader thread; one that may take long waits for the client's turn. */
export async function readPage(
  readerThreads: ReaderThreads,
  { file, plan, separator, isLong }: Wanted,
  client: Client,
) {
  const quick = isLong
    ? null
    : await whilePresent(client, stop =>
        readerThreads.quick().call('quickPage', file, plan, separator, nearby, stop),
      )
  return (
    quick ??
    readerThreads.long(client, reader =>
      whilePresent(client, stop => reader.call('page', file, plan, separator, stop)),
    )
  )
}

/** One for each connection, like its signal. */
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
