/**
 * Limits how much work runs at the same time. The rest waits in a queue.
 * @param admit is called with the length of the queue before work joins it, and throws to reject the work
 */
export function createSemaphore(max: number, admit: (waiting: number) => void = () => {}) {
  let running = 0
  const queue: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= max) {
      admit(queue.length)
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
