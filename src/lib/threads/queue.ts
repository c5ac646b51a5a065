import { type FairQueue, queueWith } from '../fair-queue.ts'
import type { Calls, Handlers } from './calls.ts'

/** Queues of the main thread that other threads use too. */
export interface QueueHandlers extends Handlers {
  /** Resolves when it is the client's turn. @throws Overloaded if too much is waiting */
  enter(queue: string, id: number, network: string, first: boolean): Promise<void>
  /** Ends the turn, or the waiting for it. */
  leave(id: number): void
}

/**
 * Shares queues with one thread.
 * @returns the handlers for it, and `leave`, which takes back its turns when it has ended
 */
export function shareQueues(queues: Readonly<Record<string, FairQueue>>): {
  readonly handlers: QueueHandlers
  leave(): void
} {
  /** Functions that end each turn, or the waiting for it. */
  const ends = new Map<number, () => void>()
  const leave = (id: number) => {
    const end = ends.get(id)
    ends.delete(id)
    end?.()
  }
  return {
    handlers: {
      enter: async (name, id, network, first) => {
        const queue = queues[name]
        if (!queue) throw new Error(`there is no queue ${name}`)
        const gone = new AbortController()
        ends.set(id, () => gone.abort())
        try {
          const end = await queue.enter({ network, first, signal: () => gone.signal })
          // The client may have left just when its turn came.
          if (gone.signal.aborted) end()
          else ends.set(id, end)
        } catch (error) {
          ends.delete(id)
          throw error
        }
      },
      leave,
    },
    leave: () => {
      for (const id of ends.keys()) leave(id)
    },
  }
}

/** Ids of turns in all the queues of this thread. */
let next = 0

/**
 * Makes a queue that waits for turns in the main thread.
 * @param main calls to the main thread
 * @param name name of the queue there
 */
export function remoteQueue(main: Calls<QueueHandlers>, name: string): FairQueue {
  return queueWith(async ({ network, first = false, signal }) => {
    const id = next++
    const leave = () => void main.call('leave', id).catch(() => {})
    const gone = signal()
    gone.throwIfAborted()
    gone.addEventListener('abort', leave)
    try {
      await main.call('enter', name, id, network, first)
    } finally {
      gone.removeEventListener('abort', leave)
      gone.throwIfAborted()
    }
    return leave
  })
}
