import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientAddress } from '../lib/addresses.ts'
import { hideAccessTokens } from '../model/access-tokens.ts'
import { pathOf } from './addresses.ts'

/** Writes the line of a request that is over. @param ms from its headers to the end of its answer */
export type Report = (request: FastifyRequest, reply: FastifyReply, ms: number) => void

/** Creates the report of requests in the log (`CARREL_LOG_LEVEL=info`). */
export function createReport(): Report {
  /** Bytes of each connection that earlier answers took. Answers come one after the other, also of pipelined requests. */
  const before = new WeakMap<Socket, number>()
  return (request, { raw }, ms) => {
    const { caller, method, originalUrl } = request
    const { socket } = request.raw
    const bytes = socket.bytesWritten
    const eperson = caller && caller.kind !== 'anonymous' ? caller.session.eperson.uuid : null
    request.log.info(
      {
        method,
        // The log has only the path: a query may hold a token (T10).
        path: hideAccessTokens(pathOf(originalUrl)),
        // null: the client left before it.
        status: raw.headersSent ? raw.statusCode : null,
        ms: Math.round(ms),
        bytes: bytes - (before.get(socket) ?? 0),
        client: clientAddress(request.ip),
        eperson,
        ...(caller?.kind === 'acting' && { actor: caller.actor.eperson.uuid }),
      },
      'request',
    )
    before.set(socket, bytes)
  }
}
