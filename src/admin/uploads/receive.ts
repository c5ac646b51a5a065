import type { IncomingMessage } from 'node:http'
import { bodyPieces } from '../../http/body-pieces.ts'
import type { Added, UploadPlace } from './place.ts'

/** Time in ms without any byte after which the client counts as gone. */
const patience = 30_000

interface Parts {
  readonly place: UploadPlace
  readonly eperson: string
  readonly id: string
  readonly offset: number
  /** Maximum number of bytes that may arrive. */
  readonly most: number
  /** Ends it early; the bytes that have arrived stay. */
  readonly signal: AbortSignal
}

/** Adds a body to an upload as it arrives. The bytes that have arrived stay, however it ends. */
export async function receive(
  body: IncomingMessage,
  { place, eperson, id, offset, most, signal }: Parts,
): Promise<Added> {
  const idle = new AbortController()
  const timer = setTimeout(() => idle.abort(), patience)
  try {
    const arriving = bodyPieces(body, AbortSignal.any([signal, idle.signal]))
    return await place.append(id, offset, upTo(most, arriving, timer), eperson)
  } finally {
    clearTimeout(timer)
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
