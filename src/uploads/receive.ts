import type { IncomingMessage } from 'node:http'
import { bodyPieces } from '../http/body-pieces.ts'
import { gather } from '../lib/gather.ts'
import { openData, written } from './folder.ts'

/** In ms, without any byte: the client is gone. */
const patience = 30_000

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
  const idle = new AbortController()
  const timer = setTimeout(() => idle.abort(), patience)
  try {
    const arriving = bodyPieces(body, AbortSignal.any([signal, idle.signal]))
    await gather(upTo(most, arriving, timer), async bytes => {
      // Fewer bytes may be written than were asked for.
      for (let at = 0; at < bytes.length; )
        at += (await written(() => file.write(bytes, at, bytes.length - at, end + at))).bytesWritten
      end += bytes.length
    })
    await written(() => file.datasync())
    return end
  } finally {
    clearTimeout(timer)
    await file.close()
  }
}

/** Takes back what a body has added. @param offset where the upload ended before */
export async function cutBack(folder: string, id: string, offset: number): Promise<void> {
  const file = await openData(folder, id)
  try {
    await written(async () => {
      await file.truncate(offset)
      await file.datasync()
    })
  } finally {
    await file.close()
  }
}

/** The body until it ends, breaks off, has all that may arrive, or is not wanted any more. */
async function* upTo(
  most: number,
  pieces: AsyncGenerator<Buffer>,
  timer: NodeJS.Timeout,
): AsyncGenerator<Buffer> {
  try {
    for (let room = most; room >= 0; ) {
      // A connection that breaks rejects: the client will ask how far it got.
      const { done, value } = await pieces.next().catch(() => ({ done: true, value: undefined }))
      if (done || value === undefined) return
      timer.refresh()
      yield value.subarray(0, room)
      room -= value.length
    }
  } finally {
    // Also where writing fails: nothing listens to the body any more.
    await pieces.return(undefined)
  }
}
