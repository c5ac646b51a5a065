import { Problem } from '../http/problems.ts'
import type { Counter } from '../lib/counter.ts'

/**
 * Maximum number of transfers per node. Each takes a file descriptor, and its client's connection another.
 */
const maxTransfers = 2_000

/**
 * Limits transfers.
 * @param running counts the transfers of the whole service
 */
export function createTransfers(running: Counter) {
  return {
    /** @throws Problem 503 if there are too many */
    run: async <T>(transfer: () => Promise<T>): Promise<T> => {
      if (!running.add(maxTransfers))
        throw new Problem('busy', `${maxTransfers} files are being sent. Retry in a moment.`, {
          headers: { 'retry-after': '5' },
        })
      try {
        return await transfer()
      } finally {
        running.remove()
      }
    },
  }
}
