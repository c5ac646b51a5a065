import { QueueFull, type Semaphore } from '../lib/semaphore.ts'
import type { QueueMeasures } from '../lib/tally.ts'

/** The same semaphore, with what waits and runs counted. */
export const measured =
  (semaphore: Semaphore, { running, waiting, waited, refused }: QueueMeasures): Semaphore =>
  async (work, turn) => {
    const begin = performance.now()
    let isWaiting = true
    const wait = () => {
      if (!isWaiting) return
      isWaiting = false
      waiting.change(-1)
    }
    waiting.change(1)
    try {
      return await semaphore(async () => {
        wait()
        waited.observe((performance.now() - begin) / 1000)
        running.change(1)
        try {
          return await work()
        } finally {
          running.change(-1)
        }
      }, turn)
    } catch (error) {
      if (error instanceof QueueFull) refused.add()
      throw error
    } finally {
      wait()
    }
  }
