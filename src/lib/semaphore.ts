/**
 * Lets so much work through at once; the rest waits in line.
 * @param admit told how many wait already, before one more does; throws to send it away
 */
export function createSemaphore(atOnce: number, admit: (waiting: number) => void = () => {}) {
  let inside = 0
  const line: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (inside >= atOnce) {
      admit(line.length)
      await new Promise<void>(resolve => line.push(resolve))
    } else inside++
    try {
      return await work()
    } finally {
      const next = line.shift()
      // The place is handed on, so that nobody slips in between.
      if (next) next()
      else inside--
    }
  }
}
