import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientAddress, siteOf } from '../lib/addresses.ts'
import { type Client, Overloaded } from '../lib/fair-queue.ts'

/**
 * For whom the store works (Q10, Q18). Most requests don't need the network, but V8 makes a hidden class for each object
 * literal with a getter. That lives, with the request that the getter refers to, until the next collection of the whole
 * heap: a seventh of the time of a page went into copying such requests.
 */
export const clientOf = (request: FastifyRequest): Client => ({
  network: siteOf(clientAddress(request.ip)),
  signal: () => signalOf(request),
})

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
 * How many requests of one connection may wait for their turn. Node reads no more of a connection while responses of some
 * size are to be sent on it, but those that wait have none yet.
 */
const maxWaiting = 100
const waiting = new WeakMap<Socket, number>()

/**
 * Waits until the responses to all earlier requests of the connection are sent (RFC 9112 §9.3.2); Node gives a response its
 * socket then. A client may send a thousand requests at once, and each would hold what it needs until its turn comes.
 * They must not wait for each other in any other order, such as that in which their tokens have been verified.
 * @returns whether it had to wait
 * @throws Overloaded if too many wait already; an AbortError if the client disconnects
 */
export async function turnOf({ request, raw }: FastifyReply): Promise<boolean> {
  if (raw.socket !== null) return false
  const { socket } = request.raw
  const others = waiting.get(socket) ?? 0
  if (others >= maxWaiting)
    throw new Overloaded(
      `${others} requests of this connection are waiting already. Read their responses first.`,
    )
  waiting.set(socket, others + 1)
  try {
    await once(raw, 'socket', { signal: signalOf(request) })
    return true
  } finally {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
  }
}

/** @returns the response that the connection is for now: Node has no public name for it */
export const responseOn = (socket: Socket): ServerResponse | null =>
  (socket as Socket & { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? null

/**
 * For the `timeout` of a server. Ends a connection on which nothing has moved for too long, unless its client waits for a
 * response. With a listener, Node ends none itself, not even one that is kept open for requests that don't come.
 */
export function endIdle(socket: Socket): void {
  if (socket.writableLength > 0) socket.resetAndDestroy()
  else if (responseOn(socket) === null) socket.destroy()
}
