import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientAddress, siteOf } from '../lib/addresses.ts'
import { type Client, Overloaded } from '../lib/fair-queue.ts'

/**
 * Describes the client to the store (Q10, Q18). Most requests don't need the network, but a getter for it
 * would be costly: V8 makes a hidden class for each object literal with a getter. That class lives, with the
 * request that the getter refers to, until the next collection of the whole heap: copying such requests took
 * a seventh of the time of a page.
 */
export const clientOf = (request: FastifyRequest): Client => ({
  network: siteOf(clientAddress(request.ip)),
  signal: () => signalOf(request),
})

/** The signals by connection: one suffices, because a client may send many requests without waiting for a response. */
const signals = new WeakMap<Socket, AbortSignal>()

/**
 * Watches the connection, not the response: a response that waits for its turn isn't told when the connection closes.
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
 * Maximum number of requests of one connection that wait for their turn. Node stops reading a connection
 * while responses of some size are queued on it, but waiting requests have no response yet.
 */
const maxWaiting = 100
const waiting = new WeakMap<Socket, number>()

/**
 * Waits until the responses to all earlier requests of the connection are sent (RFC 9112 §9.3.2), when Node gives a
 * response its socket. A client may send a thousand requests at once, and each would hold its resources until its turn.
 * Requests must not wait for each other in any other order, such as that in which their tokens are verified.
 * @returns true if it had to wait
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

/** @returns the response that the connection is currently used for, for which Node has no public name */
export const responseOn = (socket: Socket): ServerResponse | null =>
  (socket as Socket & { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? null

/**
 * Ends a connection on which nothing has moved for too long, unless its client waits for a response: the listener for a
 * server's `timeout`. Node ends none itself once there is a listener, not even an idle keep-alive connection.
 */
export function endIdle(socket: Socket): void {
  if (socket.writableLength > 0) socket.resetAndDestroy()
  else if (responseOn(socket) === null) socket.destroy()
}

/** The header in which clients and proxies send the id of a request, and in which every answer has it (W3). */
export const requestIdHeader = 'x-request-id'

/** Ids that are taken over. They are written to the log, the audit trail and pages. */
const legal = /^[\w.:@+/=-]{1,128}$/
/** A `traceparent` with its trace id (https://www.w3.org/TR/trace-context/#traceparent-header); ids of zeros and ff are invalid. */
const traced = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|(?<!^00.*)-)/

/** An id is no secret, but a number would tell how many requests others send. */
export const newRequestId = (): string => randomUUID()

/** Returns the id that a request was sent with, else that of its trace, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers[requestIdHeader]
  if (typeof sent === 'string' && legal.test(sent)) return sent
  const { traceparent } = headers
  const trace = typeof traceparent === 'string' ? traced.exec(traceparent)?.[1] : undefined
  return trace ?? newRequestId()
}
