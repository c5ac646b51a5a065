import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'

/** A body in pieces, each in a buffer of its own that nobody needs once it is sent. */
export interface Pieces {
  readonly before: string
  readonly between: string
  readonly behind: string
  readonly pieces: AsyncIterator<Uint8Array>
}

/**
 * Sends a body of any size at the client's pace (Q10): the next piece is asked for when the connection has taken the
 * last. When the client goes away the pieces end; when a piece fails the connection is reset, because an answer that
 * merely ends would look whole.
 * @param patience milliseconds after which a client that takes nothing is cut off; 0: it may take its time
 */
export async function sendPieces(
  reply: FastifyReply,
  { before, between, behind, pieces }: Pieces,
  patience = 0,
): Promise<FastifyReply> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders)
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  if (patience > 0) raw.setTimeout(patience, () => raw.socket?.resetAndDestroy())
  // It may have gone while the first piece was read.
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
    if (!gone.signal.aborted) raw.end(behind)
  } catch (error) {
    if (!gone.signal.aborted) {
      reply.log.error(
        { fault: error instanceof Error ? error.message : String(error) },
        'an answer broke off',
      )
      raw.socket?.resetAndDestroy()
    }
  } finally {
    await pieces.return?.()
  }
  return reply
}

/** The headers of a body whose length nobody knows: HEAD says no more about it than GET does (RFC 9110 §9.3.2). */
export function sendHead(reply: FastifyReply): FastifyReply {
  reply.hijack()
  reply.raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders).end()
  return reply
}

/**
 * Gives the memory back now. Left to the garbage collector, which sees little need, a listing of 300 MB kept 60 MB.
 * Buffers of Node's pool are shared and small; they stay.
 */
function release(piece: Uint8Array): void {
  if (piece.buffer instanceof ArrayBuffer && piece.byteLength === piece.buffer.byteLength)
    piece.buffer.transfer(0)
}
