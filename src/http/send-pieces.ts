import { once } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { signalOf } from './connection.ts'
import { Problem } from './problems.ts'

/** A body in pieces, each in its own memory. */
interface Pieces {
  readonly before: string
  readonly between: string
  readonly after: string
  readonly pieces: AsyncIterator<Uint8Array>
  /** Called for each piece once it is sent; by default, it frees the piece's memory. */
  readonly release?: (piece: Uint8Array) => void
}

/** Time limits in ms. A client that exceeds one is disconnected. */
export interface TimeLimits {
  /** Time during which the client may accept no data. */
  readonly idle: number
  /** Time for the whole body. */
  readonly total?: number
}

/**
 * Sends a body of any size at the client's pace (Q10): the next piece is read when the connection has taken
 * the last. If the client disconnects, no more pieces are read. If a piece fails, the connection is reset,
 * because a response that merely ended would look complete.
 * @param reply whose turn it is (`turnOf`)
 */
export async function sendPieces(
  reply: FastifyReply,
  { before, between, after, pieces, release = free }: Pieces,
  limits: TimeLimits,
): Promise<FastifyReply> {
  reply.hijack()
  const { raw } = reply
  const gone = signalOf(reply.request)
  try {
    // The client may have disconnected while the first piece was read; nothing would clear a time limit set after that.
    gone.throwIfAborted()
    limitTime(raw, limits)
    raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders)
    if (before !== '') raw.write(before)
    for (
      let next = await pieces.next(), first = true;
      !next.done;
      next = await pieces.next(), first = false
    ) {
      if (gone.aborted) break
      if (!first && between !== '') raw.write(between)
      const piece = next.value
      if (!raw.write(piece, () => release(piece))) await once(raw, 'drain', { signal: gone })
    }
    if (!gone.aborted) raw.end(after)
  } catch (error) {
    if (!gone.aborted) {
      // The time limit that a client set for its query is no fault of the service.
      if (!(error instanceof Problem))
        reply.log.error(
          { fault: error instanceof Error ? error.message : String(error) },
          'a response broke off',
        )
      raw.socket?.resetAndDestroy()
    }
  } finally {
    await pieces.return?.()
  }
  return reply
}

/** @param response which has its socket */
function limitTime(response: ServerResponse, { idle, total }: TimeLimits): void {
  const disconnect = () => response.socket?.resetAndDestroy()
  const before = response.socket?.timeout ?? 0
  response.setTimeout(idle, () => {
    // While the next piece is prepared, the client has nothing to accept.
    if (response.writableLength > 0) disconnect()
  })
  // Runs before Node's own listener: the connection goes on to the next response, or to its time limit for
  // the next request.
  response.prependOnceListener('finish', () => response.setTimeout(before))
  if (total === undefined) return
  const timer = setTimeout(disconnect, total)
  response.once('close', () => clearTimeout(timer))
}

/** Answers HEAD for a body of unknown length: the headers are those of GET (RFC 9110 §9.3.2). */
export function sendHead(reply: FastifyReply): FastifyReply {
  reply.hijack()
  reply.raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders).end()
  return reply
}

/**
 * Frees the memory now. The garbage collector sees little need to: it let a listing of 300 MB hold 60 MB.
 * Buffers of Node's pool are small and shared, and are left alone.
 */
export function free(piece: Uint8Array): void {
  if (piece.buffer instanceof ArrayBuffer && piece.byteLength === piece.buffer.byteLength)
    piece.buffer.transfer(0)
}
