import { StoreUnavailable } from '../../model/errors.ts'
import type { Thread } from '../../threads/thread.ts'
import type { Shared } from '../shared/event-loops.ts'
import type { ReaderHandlers } from './reader.ts'

/** At most two reader threads, which all event loops share, each started when it is first needed. */
export interface ReaderThreads {
  leastBusy(): Thread<ReaderHandlers>
  close(): Promise<void>
}

export function createReaderThreads({ threads, loop }: Shared): ReaderThreads {
  const known: (Thread<ReaderHandlers> | undefined)[] = []
  let closed = false
  // Each loop prefers another one.
  const [preferred, other] = (loop?.at ?? 0) % 2 === 0 ? [0, 1] : [1, 0]
  const thread = (slot: number) => {
    const running = known[slot]
    if (running && !running.hasEnded) return running
    const started = threads.start<ReaderHandlers>('storage/sqlite/reader', slot, null)
    known[slot] = started
    return started
  }
  return {
    leastBusy: () => {
      if (closed) throw new StoreUnavailable('the store is closed')
      const first = thread(preferred)
      if (first.busy === 0) return first
      const second = thread(other)
      return second.busy < first.busy ? second : first
    },
    close: async () => {
      closed = true
      await Promise.all(known.map(one => one?.close()))
    },
  }
}
