import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { Problem } from './problems.ts'
import { free } from './send-pieces.ts'

/**
 * Yields the pieces of a body as they arrive. Unlike Node's own iterator, it doesn't join waiting pieces, and it leaves
 * the connection open for the answer. A piece must not be read once the next one is requested: its memory is freed.
 * @param signal when aborted, ends the iteration by throwing its reason
 * @throws Problem 400 if the connection breaks
 */
export async function* bodyPieces(body: Readable, signal?: AbortSignal): AsyncGenerator<Buffer> {
  for await (const piece of arriving(body, signal)) {
    yield piece
    free(piece)
  }
}

/** Yields the pieces of a stream as they arrive, without freeing any. */
export async function* arriving(stream: Readable, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const waiting: Buffer[] = []
  let wake = () => {}
  let hasEnded = stream.readableEnded
  let fault: unknown
  const take = (piece: Buffer) => {
    waiting.push(piece)
    stream.pause()
    wake()
  }
  const end = () => {
    hasEnded = true
    wake()
  }
  const fail = (error: unknown) => {
    fault ??= error
    wake()
  }
  const broken = () => fail(brokenBody())
  const stop = () => fail(signal?.reason)
  stream.on('data', take).once('end', end).once('error', broken).once('close', broken)
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) stop()
  else if (stream.destroyed) broken()
  try {
    for (;;) {
      const piece = waiting.shift()
      if (piece !== undefined) yield piece
      else if (hasEnded) return
      else if (fault !== undefined) throw fault
      else
        await new Promise<void>(resolve => {
          wake = resolve
          stream.resume()
        })
    }
  } finally {
    stream.pause().off('data', take).off('end', end).off('error', broken).off('close', broken)
    signal?.removeEventListener('abort', stop)
  }
}

export const brokenBody = () =>
  new Problem('bad-request', 'The connection broke before the whole body had come.')

/**
 * Connections on which a body may take longer to arrive than CARREL_REQUEST_TIMEOUT, because it is a file.
 * The reader of such a body ends it when nothing more arrives.
 */
const slow = new WeakSet<Socket>()

/**
 * True if a late body is allowed. Node reports each late request once; for these connections, the report is ignored.
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
