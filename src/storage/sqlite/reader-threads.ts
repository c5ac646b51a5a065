import { StoreUnavailable } from '../../model/errors.ts'
import { startThread, type Thread } from '../shared/thread.ts'
import type { ReaderHandlers } from './reader.ts'

/** At most two reader threads, each started when it is first needed. */
export interface ReaderThreads {
  leastBusy(): Thread<ReaderHandlers>
  close(): Promise<void>
}

export function createReaderThreads(): ReaderThreads {
  let threads: Thread<ReaderHandlers>[] = []
  let closed = false
  const start = () => {
    const thread = startThread<ReaderHandlers>('sqlite/reader', null)
    threads.push(thread)
    return thread
  }
  return {
    leastBusy: () => {
      if (closed) throw new StoreUnavailable('the store is closed')
      threads = threads.filter(thread => !thread.hasEnded)
      const [first, second] = threads
      if (!first) return start()
      if (first.busy === 0) return first
      if (!second) return start()
      return second.busy < first.busy ? second : first
    },
    close: async () => {
      closed = true
      await Promise.all(threads.map(thread => thread.close()))
    },
  }
}
