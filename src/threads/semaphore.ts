import { QueueFull, type Semaphore, type Turn } from '../lib/semaphore.ts'
import type { Calls, Handlers } from './calls.ts'

/** A semaphore of the main thread that other threads use too. */
export interface SemaphoreHandlers extends Handlers {
  /** @returns when there is room, null; the number of those that wait, if too many do */
  acquire(id: number, turn?: Turn): Promise<number | null>
  release(id: number): void
}

/** @returns what one thread may call, and `leave`, to call when the thread has ended, which takes back what it held */
export function shareSemaphore(semaphore: Semaphore): {
  readonly handlers: SemaphoreHandlers
  leave(): void
} {
  const held = new Map<number, () => void>()
  let hasLeft = false
  const leave = () => {
    hasLeft = true
    for (const release of held.values()) release()
    held.clear()
  }
  return {
    handlers: {
      acquire: (id, turn) =>
        new Promise((resolve, reject) => {
          const hold = () =>
            new Promise<void>(release => {
              if (hasLeft) return release()
              held.set(id, release)
              resolve(null)
            })
          semaphore(hold, turn).catch(error =>
            error instanceof QueueFull ? resolve(error.waiting) : reject(error),
          )
        }),
      release: id => {
        held.get(id)?.()
        held.delete(id)
      },
    },
    leave,
  }
}

/** @param main the calls to the main thread */
export function remoteSemaphore(main: Calls<SemaphoreHandlers>): Semaphore {
  let next = 0
  return async (work, turn) => {
    const id = next++
    const waiting = await main.call('acquire', id, turn)
    if (waiting !== null) throw new QueueFull(waiting)
    try {
      return await work()
    } finally {
      main.call('release', id).catch(() => {})
    }
  }
}
