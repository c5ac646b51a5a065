import type { IncomingMessage } from 'node:http'
import { countPassed } from '../lib/shared-memory.ts'
import { openData, written } from './folder.ts'

/** Bytes that are written at once. With 50 uploads at once, all of this is 7 MB. */
const pieceSize = 128 * 1024
/** In ms, without any byte: the client is gone. */
const idle = 30_000

interface Parts {
  readonly folder: string
  readonly id: string
  readonly offset: number
  /** The most that may arrive. */
  readonly most: number
  /** Ends it early: what has arrived stays. */
  readonly signal: AbortSignal
}

/**
 * Adds a body to an upload as it arrives, in constant memory. What has arrived stays, however it ends.
 * @returns the new offset, which is on disk
 */
export async function receive(
  body: IncomingMessage,
  { folder, id, offset, most, signal }: Parts,
): Promise<number> {
  const file = await openData(folder, id)
  let end = offset
  const waiting = Buffer.allocUnsafeSlow(pieceSize)
  let filled = 0
  const flush = async () => {
    let at = 0
    // Fewer bytes may be written than were asked for.
    while (at < filled)
      at += (await written(() => file.write(waiting, at, filled - at, end + at))).bytesWritten
    end += filled
    filled = 0
  }
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), idle)
  const ends = AbortSignal.any([signal, stop.signal])
  try {
    for await (const chunk of piecesOf(body, ends)) {
      timer.refresh()
      const room = most - (end - offset) - filled
      const taken = Math.min(chunk.length, room)
      countPassed(taken)
      // Copied, as a file in a form is: pieces that wait would grow old.
      for (let at = 0; at < taken; ) {
        const copied = chunk.copy(waiting, filled, at, taken)
        at += copied
        filled += copied
        if (filled === pieceSize) await flush()
      }
      if (chunk.length > room) break
    }
    await flush()
    await written(() => file.datasync())
    return end
  } finally {
    clearTimeout(timer)
    await file.close()
  }
}

/** The body until it ends, breaks off or is not wanted any more. */
async function* piecesOf(body: IncomingMessage, ends: AbortSignal): AsyncGenerator<Buffer> {
  const iterator = body.iterator({ destroyOnReturn: false })
  const ended = new Promise<undefined>(resolve => {
    if (ends.aborted) resolve(undefined)
    ends.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  for (;;) {
    // A connection that breaks rejects: the client will ask how far it got.
    const next = await Promise.race([iterator.next().catch(() => undefined), ended])
    if (next === undefined || next.done === true) return
    yield next.value as Buffer
  }
}
