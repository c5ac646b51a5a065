import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'

/**
 * Connections on which a body may take longer to arrive than CARREL_REQUEST_TIMEOUT, because it is a file. The
 * reader of such a body ends it when nothing arrives any more.
 */
const slow = new WeakSet<Socket>()

/** Node tells of each request once that it took too long; for these, nothing is done. */
export const mayBeSlow = (socket: Socket): boolean => slow.has(socket)

/** A hook for before the body is read. */
export async function allowSlowBody({ raw }: FastifyRequest): Promise<void> {
  slow.add(raw.socket)
}

/** A hook for when the response is sent: the next request of the connection is one like any other. */
export async function endSlowBody({ raw }: FastifyRequest): Promise<void> {
  slow.delete(raw.socket)
}
