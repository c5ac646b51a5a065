import { RightsChanged, StoreUnavailable } from '../../lib/errors.ts'
import { type Client, createFairQueue } from '../../lib/fair-queue.ts'
import type { Thread } from '../../lib/threads/thread.ts'
import type { Keyring } from '../../model/keys.ts'
import { inBatches } from '../runtime/batches.ts'
import { partFor, type Shared } from '../runtime/event-loops.ts'
import { UnknownReader } from '../single-records.ts'
import type { OpenedFiles } from './files-in-place.ts'
import type { changes } from './hot.ts'
import type { ReaderHandlers } from './reader.ts'
import type { PartChange, WriteCall, WriteReply, WriterData, WriterHandlers } from './writer.ts'

/** Runs a change, by the name of its function in `changes`. The promise resolves after the change is on disk. */
export type Write = <K extends keyof typeof changes>(
  name: K,
  ...args: Tail<Parameters<(typeof changes)[K]>>
) => Promise<ReturnType<(typeof changes)[K]>>
type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never

/**
 * Sends the writer thread all changes that have queued up since its last reply. Changes that several event
 * loops send during a commit share the next one.
 */
export function createGroupCommit(opened: OpenedFiles, keyring: Keyring, { threads }: Shared) {
  const start = () => {
    const data: WriterData = { opened, secrets: keyring() }
    return threads.start<WriterHandlers>('cli/store-writer', 0, data)
  }
  let thread = start()
  let isClosed = false
  const { send, close } = inBatches(async (calls: readonly WriteCall[]) => {
    if (thread.hasEnded) thread = start()
    const replies = await thread.call('commit', calls)
    return calls.map((_, at) => resultOf(replies[at]))
  })
  const write: Write = (name, ...args) => send([name, args])
  return {
    write,
    /** Runs a change of a part of the storage. */
    change: (name: PartChange, args: readonly unknown[]): Promise<unknown> => send([name, args]),
    /** Rejects if nothing can be written now. */
    check: async () => {
      if (isClosed) throw new StoreUnavailable('the store is closed')
      if (thread.hasEnded) thread = start()
      await thread.call('check')
    },
    close: async () => {
      isClosed = true
      await close()
      await thread.close()
    },
  }
}

function resultOf(reply: WriteReply | undefined): unknown {
  if (reply && 'result' in reply) return reply.result
  if (reply && 'refused' in reply) return new RightsChanged()
  if (reply && 'unknown' in reply) return new UnknownReader(reply.unknown)
  if (reply && 'unavailable' in reply) return new StoreUnavailable(reply.unavailable)
  return new Error(reply?.error ?? 'the writer did not reply')
}

export type Reader = Thread<ReaderHandlers>

const slots = { quick: 0, long: 1 } as const

/** Maximum number of calls that wait for the thread for long work, in all event loops together. */
const maxWaiting = 1_024
/** Maximum time in ms that such a call waits. */
const maxWait = 15_000

/**
 * Threads that read the store for all event loops of a process, each started when it is first needed: one for
 * quick work, and one for work that may take long, so that a page in an indexed order doesn't wait for sorts.
 * @param statementTimeout in ms
 */
export function createReaderThreads({ threads, loop }: Shared, statementTimeout: number) {
  const known: (Reader | undefined)[] = []
  let closed = false
  // With two at a time, the thread has the next call at hand when it has answered one.
  const queue = createFairQueue({ max: 2, maxWaiting: partFor(loop, maxWaiting), maxWait })
  const thread = (slot: number) => {
    if (closed) throw new StoreUnavailable('the store is closed')
    const running = known[slot]
    if (running && !running.hasEnded) return running
    const started = threads.start<ReaderHandlers>('cli/store-reader', slot, { statementTimeout })
    known[slot] = started
    return started
  }
  return {
    /** The thread for work that returns few rows, and reads about as many. */
    quick: () => thread(slots.quick),
    /** Runs work that may take long, when it is the turn of the client. @throws Overloaded if too much is waiting */
    long: <T>(client: Client, work: (reader: Reader) => Promise<T>): Promise<T> =>
      queue.run(client, async () => work(thread(slots.long))),
    /** Starts the thread for work that may take long. */
    begin: (): void => void thread(slots.long),
    /** Starts counting the work that may take long. */
    measure: queue.measure,
    close: async () => {
      closed = true
      await Promise.all(known.map(one => one?.close()))
    },
  }
}

export type ReaderThreads = ReturnType<typeof createReaderThreads>
