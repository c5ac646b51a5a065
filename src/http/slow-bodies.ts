import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'

/** Connections whose request has a body that may take longer than others: its handler watches whether it goes on. */
const patient = new WeakSet<Socket>()

/**
 * The body of this request may take longer to arrive than CARREL_REQUEST_TIMEOUT says for a whole request. Node looks at
 * each request once, so this lasts until the request has arrived.
 */
export function allowSlowBody({ raw: { socket } }: FastifyRequest): void {
  patient.add(socket)
}

/** From now on the time limit holds again for requests of this connection. */
export function endSlowBody({ raw: { socket } }: FastifyRequest): void {
  patient.delete(socket)
}

export const mayBeSlow = (socket: Socket): boolean => patient.has(socket)
