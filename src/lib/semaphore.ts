/** Runs work, or lets it wait until there is room. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

/** The queue is full. */
export class QueueFull extends Error {
  /** The number of those that wait. */
  readonly waiting: number

  constructor(waiting: number) {
    super(`${waiting} are waiting`)
    this.waiting = waiting
  }
}

/**
 * Limits how much work runs at the same time. The rest waits in a queue.
 * @param maxWaiting how much may wait
 * @returns a function that rejects with `QueueFull` if too much is waiting
 */
export function createSemaphore(max: number, maxWaiting = Number.POSITIVE_INFINITY): Semaphore {
  let running = 0
  const queue: (() => void)[] = []
  return async work => {
    if (running >= max) {
      if (queue.length >= maxWaiting) throw new QueueFull(queue.length)
      await new Promise<void>(resolve => queue.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      const next = queue.shift()
      // The slot passes to the next in the queue directly, so that newer work can't take it first.
      if (next) next()
      else running--
    }
  }
}
