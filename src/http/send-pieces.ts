import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'

/** A body in pieces, each in its own memory. */
export interface Pieces {
  readonly before: string
  readonly between: string
  readonly after: string
  readonly pieces: AsyncIterator<Uint8Array>
  /** Called for each piece once it is sent; frees its memory unless told otherwise. */
  readonly release?: (piece: Uint8Array) => void
}

/**
 * Sends a body of any size at the client's pace (Q10): the next piece is read when the connection has taken the last. If
 * the client disconnects, no more pieces are read. If a piece fails, the connection is reset, because a response that
 * merely ended would look complete.
 * @param idleTimeout milliseconds after which a client that accepts no data is disconnected; 0 for no timeout
 */
export async function sendPieces(
  reply: FastifyReply,
  { before, between, after, pieces, release = free }: Pieces,
  idleTimeout = 0,
): Promise<FastifyReply> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders)
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  if (idleTimeout > 0) raw.setTimeout(idleTimeout, () => raw.socket?.resetAndDestroy())
  // It may have disconnected while the first piece was read.
  if (raw.destroyed) gone.abort()
  try {
    if (before !== '') raw.write(before)
    for (
      let next = await pieces.next(), first = true;
      !next.done;
      next = await pieces.next(), first = false
    ) {
      if (gone.signal.aborted) break
      if (!first && between !== '') raw.write(between)
      const piece = next.value
      if (!raw.write(piece, () => release(piece))) await once(raw, 'drain', { signal: gone.signal })
    }
    if (!gone.signal.aborted) raw.end(after)
  } catch (error) {
    if (!gone.signal.aborted) {
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

/** HEAD for a body of unknown length: the headers are those of GET (RFC 9110 §9.3.2). */
export function sendHead(reply: FastifyReply): FastifyReply {
  reply.hijack()
  reply.raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders).end()
  return reply
}

/**
 * Frees the memory now. The garbage collector sees little need to: it let a listing of 300 MB hold 60 MB. Buffers of
 * Node's pool are small and shared, and stay.
 */
export function free(piece: Uint8Array): void {
  if (piece.buffer instanceof ArrayBuffer && piece.byteLength === piece.buffer.byteLength)
    piece.buffer.transfer(0)
}
