import type { Socket } from 'node:net'
import { Problem } from '../http/problems.ts'

/** Files that are open at once, on one node: each takes a descriptor, and its client's connection another. */
const most = 2_000

/**
 * Transfers that are under way. Of one connection there is one at a time: a client may send a thousand requests without
 * waiting for an answer (RFC 9112 §9.3.2), and each would hold its file open until its turn comes.
 */
export function createTransfers() {
  const last = new WeakMap<Socket, Promise<unknown>>()
  let running = 0
  return {
    /** @throws Problem 503 where there are too many */
    run: async <T>(socket: Socket, transfer: () => Promise<T>): Promise<T> => {
      const before = last.get(socket)
      const { promise: done, resolve } = Promise.withResolvers<void>()
      last.set(socket, done)
      try {
        await before
        if (running >= most)
          throw new Problem('busy', `${most} files are being sent; repeat in a moment.`, {
            headers: { 'retry-after': '5' },
          })
        running++
        try {
          return await transfer()
        } finally {
          running--
        }
      } finally {
        resolve()
      }
    },
  }
}
