import { setTimeout } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { clientOf } from '../../http/connection.ts'
import { Lagging } from '../../lib/errors.ts'
import type { FairQueue } from '../../lib/fair-queue.ts'

/** Maximum time in ms for which a write waits for a new version, and time between two looks. */
const [longestWait, pause] = [15_000, 100]

/**
 * Makes writes in their turn. A write that is refused because new versions lag behind is made again when there is
 * room, up to a time (R9). Meanwhile it is not in the queue, where it would delay writes to other entities.
 *
 * @param most maximum number of writes that wait so in this event loop, half of them from one network
 * @throws Lagging for one more, and for one that has waited for too long; an AbortError if the client disconnects
 */
export function createTurns(queue: FairQueue, most: number) {
  const waiting = new Map<string, number>()
  let all = 0
  const count = (network: string, more: number) => {
    const left = (waiting.get(network) ?? 0) + more
    all += more
    if (left === 0) waiting.delete(network)
    else waiting.set(network, left)
  }
  return async function inTurn<T>(request: FastifyRequest, write: () => Promise<T>): Promise<T> {
    const client = clientOf(request)
    const { network } = client
    const isFull = () => all >= most || (waiting.get(network) ?? 0) >= Math.ceil(most / 2)
    const end = performance.now() + longestWait
    for (;;) {
      try {
        return await queue.run(client, write)
      } catch (error) {
        if (!(error instanceof Lagging) || isFull() || performance.now() >= end) throw error
      }
      count(network, 1)
      try {
        await setTimeout(pause, undefined, { signal: client.signal() })
      } finally {
        count(network, -1)
      }
    }
  }
}
