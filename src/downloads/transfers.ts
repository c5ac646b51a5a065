import type { Socket } from 'node:net'
import { Problem } from '../http/problems.ts'
import type { Counter } from '../lib/counter.ts'

/** Per node. Each takes a file descriptor, and its client's connection another. */
const maxTransfers = 2_000

/**
 * Limits transfers, also to one at a time per connection: a client may send a thousand requests without waiting for a
 * response (RFC 9112 §9.3.2), and each would hold its file open until its turn comes.
 * @param running counts those of the whole service
 */
export function createTransfers(running: Counter) {
  const last = new WeakMap<Socket, Promise<unknown>>()
  return {
    /** @throws Problem 503 if there are too many */
    run: async <T>(socket: Socket, transfer: () => Promise<T>): Promise<T> => {
      const before = last.get(socket)
      const { promise: done, resolve } = Promise.withResolvers<void>()
      last.set(socket, done)
      try {
        await before
        if (!running.add(maxTransfers))
          throw new Problem('busy', `${maxTransfers} files are being sent. Retry in a moment.`, {
            headers: { 'retry-after': '5' },
          })
        try {
          return await transfer()
        } finally {
          running.remove()
        }
      } finally {
        resolve()
      }
    },
  }
}
