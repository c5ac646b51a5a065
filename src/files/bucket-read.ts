import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { bodyPieces } from '../http/body-pieces.ts'
import { free } from '../http/send-pieces.ts'
import { FilesUnavailable } from '../lib/errors.ts'
import type { BucketClient, Part, StreamedPart } from './bucket-client.ts'
import type { Opened } from './opened.ts'
import type { ByteRange } from './ranges.ts'

/** Time in ms after which a client that reads nothing gives its connection to the bucket back. */
const maxIdle = 5_000
/** Time in ms after which an answer that sends nothing counts as broken. */
const maxSilence = 15_000
/** Number of times that a broken answer is asked for again without another byte. */
const maxRetries = 4
const firstPause = 100
/**
 * Maximum number of answers of an event loop that are read at the pace of clients. Further ones ask for one
 * piece at a time, so that slow clients can't use up all connections.
 */
const maxStreams = 128
let streams = 0
/** Size in bytes of a piece that is asked for before its reader has asked. */
const firstPiece = 64 * 1024

interface Stream {
  /** The bytes that come after `rest`; undefined if all are there. */
  readonly body: IncomingMessage | undefined
  readonly chunks: AsyncIterator<Buffer> | undefined
  /** Places in the object of the next byte and of the last one of this answer. */
  at: number
  readonly end: number
  /** Bytes that have arrived and were not read. */
  rest: Buffer
  readonly close: () => void
}

/**
 * Opens an object, which never changes. Its bytes are those of one answer of the bucket as long as they are
 * read in order; when it breaks, another one goes on at the same place.
 * @param first the bytes that are read first, which saves a request
 * @returns undefined if there is no such object
 */
export async function openObject(
  client: BucketClient,
  key: string,
  first?: ByteRange,
): Promise<Opened | undefined> {
  let last = first?.end ?? Number.MAX_SAFE_INTEGER
  let stream: Stream | undefined
  let idle: NodeJS.Timeout | undefined

  function drop(): void {
    clearTimeout(idle)
    stream?.close()
    stream = undefined
  }
  function follow(body: IncomingMessage, at: number, end: number): Stream {
    let isOpen = true
    const chunks = bodyPieces(body)
    freeReads(body.socket)
    // Errors come to the reader; one after that would end the process.
    body.on('error', () => {})
    return {
      ...{ body, chunks, at, end, rest: none },
      close: () => {
        if (isOpen) streams--
        isOpen = false
        void chunks.return(undefined)
        // An answer that has come whole gives its connection back.
        if (body.complete) body.resume()
        else body.destroy()
      },
    }
  }
  /** @param least the number of bytes that are read at once */
  async function ask(at: number, least: number): Promise<Part | StreamedPart | undefined> {
    const enough = Math.min(lastByte, at + least - 1)
    if (streams >= maxStreams || last <= enough) {
      const part = await client.read(key, at, enough)
      if (part)
        stream = {
          ...{ body: undefined, chunks: undefined, at, end: enough },
          rest: part.bytes,
          close: () => {},
        }
      return part
    }
    streams++
    const end = Math.min(lastByte, last)
    const part = await client.stream(key, at, end).catch(error => {
      streams--
      throw error
    })
    if (part) stream = follow(part.body, at, end)
    else streams--
    return part
  }
  /** Reads a chunk. @returns undefined if the answer broke off or is silent */
  async function next({ body, chunks }: Stream): Promise<Buffer | undefined> {
    if (!body || !chunks) return undefined
    const timer = setTimeout(() => body.destroy(new Error('silence')), maxSilence)
    try {
      const { done, value } = await chunks.next()
      return done ? undefined : value
    } catch {
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  let lastByte = Number.MAX_SAFE_INTEGER
  let size: number | undefined
  if (first === undefined || first.end < first.start) size = await client.size(key)
  else size = (await ask(first.start, Math.min(firstPiece, first.end - first.start + 1)))?.size
  if (size === undefined) return undefined
  const length = size
  lastByte = length - 1

  /** Fills the buffer with the bytes from `at`. */
  async function fill(into: Buffer, at: number): Promise<void> {
    let filled = 0
    for (let retries = 0; filled < into.length; ) {
      if (stream?.at !== at + filled || stream.at > stream.end) {
        drop()
        if (!(await ask(at + filled, into.length - filled)))
          throw new FilesUnavailable('a content was deleted while it was being read')
      }
      const current = stream
      if (!current) continue
      if (current.rest.length === 0) {
        const chunk = await next(current)
        if (!chunk) {
          drop()
          if (++retries > maxRetries) throw new FilesUnavailable('the bucket breaks off its answers')
          await delay(firstPause * 2 ** retries)
          continue
        }
        retries = 0
        current.rest = chunk
      }
      const copied = current.rest.copy(into, filled)
      current.rest = current.rest.subarray(copied)
      current.at += copied
      filled += copied
    }
  }

  return {
    size: length,
    expect: to => {
      last = to
    },
    read: async (into, offset, wanted, position) => {
      clearTimeout(idle)
      const bytesRead = Math.max(0, Math.min(wanted, length - position))
      await fill(into.subarray(offset, offset + bytesRead), position)
      idle = setTimeout(drop, maxIdle).unref()
      return { bytesRead }
    },
    close: async () => drop(),
  }
}

const none = Buffer.alloc(0)

const freed = new WeakSet<Socket>()

/**
 * Frees what a connection has read. Node's HTTP parser copies it at once, but V8 frees the original only after it
 * has marked the whole heap, which took half of a download's processor time.
 */
function freeReads(socket: Socket): void {
  if (freed.has(socket)) return
  freed.add(socket)
  // The parser of a later answer listens after this.
  socket.on('data', (bytes: Buffer) => queueMicrotask(() => free(bytes)))
}
