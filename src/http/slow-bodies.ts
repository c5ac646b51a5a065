import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'

/**
 * Connections on which a body may take longer to arrive than CARREL_REQUEST_TIMEOUT, because it is a file.
 * The reader of such a body ends it when nothing more arrives.
 */
const slow = new WeakSet<Socket>()

/**
 * True if a late body is allowed. Node reports each late request once; for these connections, the report is
 * ignored.
 */
export const mayBeSlow = (socket: Socket): boolean => slow.has(socket)

/** A hook for before the body is read. */
export async function allowSlowBody({ raw }: FastifyRequest): Promise<void> {
  slow.add(raw.socket)
}

/** A hook for the time when the response is sent: the connection's next request has the usual limit again. */
export async function endSlowBody({ raw }: FastifyRequest): Promise<void> {
  slow.delete(raw.socket)
}
