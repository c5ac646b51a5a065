import { setTimeout } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { clientOf } from '../../http/connection.ts'
import { Lagging } from '../../lib/errors.ts'
import { type FairQueue, Overloaded } from '../../lib/fair-queue.ts'
import { type KnownToWrite, knownTo, writable } from '../../query/readable.ts'
import type { Entities } from '../../storage/entities.ts'

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

/**
 * Makes a change until it is written. If another request has written one of its records meanwhile, all of it is done again.
 * @param attempt returns undefined if it must be done again
 * @throws Overloaded after the last attempt
 */
export async function untilWritten<T>(
  entities: Entities,
  request: FastifyRequest,
  name: string,
  { most, busy }: { readonly most: number; readonly busy: string },
  attempt: (known: KnownToWrite) => Promise<T | undefined>,
): Promise<T> {
  for (let made = 0; made < most; made++) {
    const known = await knownTo(entities, request, name)
    const written = await attempt({ ...known, entity: writable(known.entity, request.caller) })
    if (written !== undefined) return written
  }
  throw new Overloaded(`${busy} being written by others all the time. Retry in a moment.`)
}
