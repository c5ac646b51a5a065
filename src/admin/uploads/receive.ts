import type { IncomingMessage } from 'node:http'
import { bodyPieces } from '../../http/body-pieces.ts'
import { gather } from '../../lib/gather.ts'
import { openData, written } from './folder.ts'

/** Time in ms without any byte after which the client counts as gone. */
const patience = 30_000

interface Parts {
  readonly folder: string
  readonly id: string
  readonly offset: number
  /** Maximum number of bytes that may arrive. */
  readonly most: number
  /** Ends it early; the bytes that have arrived stay. */
  readonly signal: AbortSignal
}

/**
 * Adds a body to an upload as it arrives, in constant memory. The bytes that have arrived stay, however it
 * ends.
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
      // A write may write fewer bytes than it was given.
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

/** Removes the bytes that a body has added. @param offset the end of the upload before */
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

/** Yields the body until it ends, breaks off, has reached the maximum, or is canceled. */
async function* upTo(
  most: number,
  pieces: AsyncGenerator<Buffer>,
  timer: NodeJS.Timeout,
): AsyncGenerator<Buffer> {
  try {
    for (let room = most; room >= 0; ) {
      // A broken connection just ends the loop: the client will ask how far the upload got.
      const { done, value } = await pieces.next().catch(() => ({ done: true, value: undefined }))
      if (done || value === undefined) return
      timer.refresh()
      yield value.subarray(0, room)
      room -= value.length
    }
  } finally {
    // Runs also if writing fails, so that the listeners of the body are removed.
    await pieces.return(undefined)
  }
}
