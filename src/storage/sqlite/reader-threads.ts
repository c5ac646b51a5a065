import { type Client, createFairQueue, type FairQueue } from '../../lib/fair-queue.ts'
import { StoreUnavailable } from '../../model/errors.ts'
import type { Thread } from '../../threads/thread.ts'
import { partFor, type Shared } from '../runtime/event-loops.ts'
import type { ReaderHandlers } from './reader.ts'

export type Reader = Thread<ReaderHandlers>

/**
 * Threads that read the store for all event loops of a process, each started when it is first needed: one for what is
 * quick, and one for what may take long, so that nobody waits for a page in an indexed order while others sort.
 */
export interface ReaderThreads {
  /** For work that reads about as many rows as it returns, of which there are few. */
  quick(): Reader
  /** Runs work that may take long, when it is the turn of the client. @throws Overloaded if too much is waiting */
  long<T>(client: Client, work: (reader: Reader) => Promise<T>): Promise<T>
  /** Counts from now on the work that may take long. */
  readonly measure: FairQueue['measure']
  close(): Promise<void>
}

const slots = { quick: 0, long: 1 } as const

/** How much work may wait for the thread for long work, in all event loops together. */
const maxWaiting = 1_024
/** For how long, in ms. */
const maxWait = 15_000

/** @param statementTimeout in ms */
export function createReaderThreads({ threads, loop }: Shared, statementTimeout: number): ReaderThreads {
  const known: (Reader | undefined)[] = []
  let closed = false
  // The thread has the next call at hand when it has answered one.
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
