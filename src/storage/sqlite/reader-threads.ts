import { type Client, createFairQueue, type FairQueue } from '../../lib/fair-queue.ts'
import type { Thread } from '../../lib/threads/thread.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import { partFor, type Shared } from '../runtime/event-loops.ts'
import type { ReaderHandlers } from './reader.ts'

export type Reader = Thread<ReaderHandlers>

/**
 * Threads that read the store for all event loops of a process, each started when it is first needed: one for
 * quick work, and one for work that may take long, so that a page in an indexed order doesn't wait for sorts.
 */
export interface ReaderThreads {
  /** The thread for work that returns few rows, and reads about as many. */
  quick(): Reader
  /**
   * Runs work that may take long, when it is the turn of the client.
   * @throws Overloaded if too much is waiting
   */
  long<T>(client: Client, work: (reader: Reader) => Promise<T>): Promise<T>
  /** Starts counting the work that may take long. */
  readonly measure: FairQueue['measure']
  close(): Promise<void>
}

const slots = { quick: 0, long: 1 } as const

/** Maximum number of calls that wait for the thread for long work, in all event loops together. */
const maxWaiting = 1_024
/** Maximum time in ms that such a call waits. */
const maxWait = 15_000

/** @param statementTimeout in ms */
export function createReaderThreads({ threads, loop }: Shared, statementTimeout: number): ReaderThreads {
  const known: (Reader | undefined)[] = []
  let closed = false
  // With two at a time, the thread has the next call at hand when it has answered one.
  const queue = createFairQueue({ max: 2, maxWaiting: partFor(loop, maxWaiting), maxWait })
  const thread = (slot: number) => {
    if (closed) throw new StoreUnavailable('the store is closed')
    const running = known[slot]
    if (running && !running.hasEnded) return running
    const started = threads.start<ReaderHandlers>('storage/sqlite/reader', slot, { statementTimeout })
    known[slot] = started
    return started
  }
  return {
    quick: () => thread(slots.quick),
    long: (client, work) => queue.run(client, async () => work(thread(slots.long))),
    measure: queue.measure,
    close: async () => {
      closed = true
      await Promise.all(known.map(one => one?.close()))
    },
  }
}
