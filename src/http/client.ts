import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientAddress, siteOf } from '../lib/addresses.ts'
import type { Client } from '../lib/fair-queue.ts'

/** For whom the store works (Q10, Q18). Most requests need neither. */
export function clientOf(request: FastifyRequest): Client {
  return {
    get network() {
      return siteOf(clientAddress(request.ip))
    },
    signal: () => signalOf(request),
  }
}

/** One for each connection, because a client may send many requests without waiting for a response. */
const signals = new WeakMap<Socket, AbortSignal>()

/**
 * Of the connection, not of the response: one that waits for its turn is told nothing when the connection closes.
 * @returns a signal that is aborted when the client disconnects
 */
export function signalOf({ raw: { socket } }: FastifyRequest): AbortSignal {
  const known = signals.get(socket)
  if (known) return known
  if (socket.destroyed) return AbortSignal.abort()
  const gone = new AbortController()
  socket.once('close', () => gone.abort())
  signals.set(socket, gone.signal)
  return gone.signal
}

/**
 * Waits until the responses to all earlier requests of the connection are sent (RFC 9112 §9.3.2); Node gives a response its
 * socket then. A client may send a thousand requests at once, and each would hold what it needs until its turn comes.
 * They must not wait for each other in any other order, such as that in which their tokens have been verified.
 * @throws an AbortError if the client disconnects
 */
export async function turnOf({ request, raw }: FastifyReply): Promise<void> {
  if (raw.socket === null) await once(raw, 'socket', { signal: signalOf(request) })
}
