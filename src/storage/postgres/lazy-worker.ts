import type { Thread } from '../../threads/thread.ts'
import type { Shared } from '../runtime/event-loops.ts'
import type { WorkerHandlers } from './record-worker.ts'

/** The thread that sorts and filters records, started when it is first needed. */
export function lazyWorker({ threads }: Shared, statementTimeout: number) {
  let thread: Thread<WorkerHandlers> | undefined
  return {
    get: () => {
      if (thread === undefined || thread.hasEnded)
        thread = threads.start<WorkerHandlers>('storage/postgres/record-worker', 0, { statementTimeout })
      return thread
    },
    close: async () => {
      await thread?.close()
    },
  }
}
