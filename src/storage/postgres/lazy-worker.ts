import type { Thread } from '../../threads/thread.ts'
import type { Shared } from '../shared/event-loops.ts'
import type { WorkerHandlers } from '../shared/record-worker.ts'

/** The thread that sorts and filters records, started when it is first needed. */
export function lazyWorker({ threads }: Shared, statementTimeout: number) {
  let thread: Thread<WorkerHandlers> | undefined
  return {
    get: () => {
      if (thread === undefined || thread.hasEnded)
        thread = threads.start<WorkerHandlers>('storage/shared/record-worker', 0, { statementTimeout })
      return thread
    },
    close: async () => {
      await thread?.close()
    },
  }
}
