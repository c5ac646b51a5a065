import { randomInt } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { bodyPieces } from '../http/body-pieces.ts'
import { free } from '../http/send-pieces.ts'
import { FilesUnavailable, WrongAnswer } from '../lib/errors.ts'
import type { Content } from '../model/items.ts'
import { maxBefore } from './bucket-answers.ts'
import type { BucketClient } from './bucket-client.ts'
import type { Part, StreamedPart } from './bucket-requests.ts'
import type { Opened } from './opened.ts'
import type { ByteRange } from './ranges.ts'
import { examine } from './verify.ts'

/** Time in ms after which a client that reads nothing gives its connection to the bucket back. */
const maxIdle = 5_000
/** Time in ms after which an answer that sends nothing counts as broken. */
const maxSilence = 15_000
/** Number of times in a row that an answer may break off before it has brought `leastBytes`. */
const maxRetries = 4
const leastBytes = 64 * 1024
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
  /** Number of bytes that come first and were not asked for. */
  before: number
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
 * @param expected size of the object, if it is known
 * @returns undefined if there is no such object
 * @throws WrongAnswer if it has another size; reading, too, if an answer lacks the wanted bytes
 */
export async function openObject(
  client: BucketClient,
  key: string,
  first?: ByteRange,
  expected?: number,
): Promise<Opened | undefined> {
  let last = first?.end ?? Number.MAX_SAFE_INTEGER
  let size = expected
  let mostBefore = maxBefore
  let stream: Stream | undefined
  let idle: NodeJS.Timeout | undefined

  function drop(): void {
    clearTimeout(idle)
    stream?.close()
    stream = undefined
  }
  function follow({ body, before }: StreamedPart, at: number, end: number): Stream {
    let isOpen = true
    const chunks = bodyPieces(body)
    freeReads(body.socket)
    // Errors come to the reader; one after that would end the process.
    body.on('error', () => {})
    return {
      ...{ body, chunks, before, at, end, rest: none },
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
    const lastByte = size === undefined ? Number.MAX_SAFE_INTEGER : size - 1
    const enough = Math.min(lastByte, at + least - 1)
    if (streams >= maxStreams || last <= enough) {
      const part = await client.read(key, { start: at, end: enough, size, mostBefore })
      if (part) mostBefore -= part.before
      if (part)
        stream = {
          ...{ body: undefined, chunks: undefined, before: 0, at, end: enough },
          rest: part.bytes,
          close: () => {},
        }
      return part
    }
    streams++
    const end = Math.min(lastByte, last)
    const part = await client.stream(key, { start: at, end, size, mostBefore }).catch(error => {
      streams--
      throw error
    })
    if (part) {
      mostBefore -= part.before
      stream = follow(part, at, Math.min(end, part.size - 1))
    } else streams--
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

  const found =
    first === undefined || first.end < first.start
      ? await client.size(key)
      : (await ask(first.start, Math.min(firstPiece, first.end - first.start + 1)))?.size
  if (found === undefined) return undefined
  if (expected !== undefined && found !== expected)
    throw new WrongAnswer(`${key}: it has ${found} bytes instead of ${expected}`)
  const length = found
  size = found

  /** Fills the buffer with the bytes from `at`. */
  async function fill(into: Buffer, at: number): Promise<void> {
    let filled = 0
    for (let retries = 0, came = 0; filled < into.length; ) {
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
          if (came >= leastBytes) retries = 0
          came = 0
          if (++retries > maxRetries) throw new FilesUnavailable('the bucket breaks off its answers')
          await delay(firstPause * 2 ** retries)
          continue
        }
        const wanted = chunk.subarray(current.before)
        current.before -= chunk.length - wanted.length
        current.rest = wanted.subarray(0, current.end + 1 - current.at)
        if (current.rest.length === 0) continue
      }
      const copied = current.rest.copy(into, filled)
      current.rest = current.rest.subarray(copied)
      current.at += copied
      filled += copied
      came += copied
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

/** An object as it was sent: its size, and the CRC-32 of each part. All parts but the last have the same length. */
export interface Sent {
  readonly size: number
  readonly partSize: number
  readonly sums: readonly number[]
}

/** Maximum number of parts that are read again after they were sent; of more, the last and some by chance. */
const maxPartsAgain = 13
/** Number of those that are read at the same time: far from a bucket, each costs a round trip. */
const partsAtOnce = 3
const piece = 256 * 1024

/** Reads an object again that was just written. @throws WrongAnswer if the bucket hasn't kept what was sent */
export async function requireKept(
  client: BucketClient,
  key: string,
  { size, partSize, sums }: Sent,
): Promise<void> {
  const isAll = sums.length <= maxPartsAgain
  const parts = (isAll ? [...sums.keys()] : partsByChance(sums.length)).values()
  async function readOn(): Promise<void> {
    const buffer = Buffer.allocUnsafe(Math.min(piece, size))
    let file: Opened | undefined
    try {
      for (const part of parts) {
        const [start, end] = [part * partSize, Math.min(size, (part + 1) * partSize)]
        const last = isAll ? size - 1 : end - 1
        file?.expect(last)
        file ??= await openObject(client, key, { start, end: last }, size)
        if (!file) throw new WrongAnswer(`${key}: it is not there after it was written`)
        let sum = 0
        for (let at = start; at < end; ) {
          const { bytesRead } = await file.read(buffer, 0, Math.min(piece, end - at), at)
          sum = crc32(buffer.subarray(0, bytesRead), sum)
          at += bytesRead
        }
        if (sum !== sums[part])
          throw new WrongAnswer(`${key}: the bucket has kept other bytes than were sent`)
      }
    } finally {
      await file?.close()
    }
  }
  await Promise.all(Array.from({ length: isAll ? 1 : partsAtOnce }, readOn))
}

export const sentAtOnce = (bytes: Uint8Array): Sent => ({
  ...{ size: bytes.length, partSize: bytes.length, sums: [crc32(bytes)] },
})

/** Writes an object and reads it again. */
export async function putAndCheck(client: BucketClient, key: string, bytes: Uint8Array): Promise<void> {
  await client.put(key, bytes)
  await requireKept(client, key, sentAtOnce(bytes))
}

/** True if the bucket has what was sent, as far as that is read again. */
export const isKept = (client: BucketClient, key: string, sent: Sent): Promise<boolean> =>
  requireKept(client, key, sent).then(
    () => true,
    error => {
      if (error instanceof WrongAnswer) return false
      throw error
    },
  )

/** True if an object was read whole, and is not the content. */
export async function isWrong(client: BucketClient, key: string, content: Content): Promise<boolean> {
  const found = await examine({ open: () => openObject(client, key) }, content).catch(() => undefined)
  return found?.reason !== undefined
}

/** @returns the first part, the last, and others, in their order */
const partsByChance = (count: number): readonly number[] => {
  const parts = new Set([0, count - 1])
  while (parts.size < maxPartsAgain) parts.add(randomInt(count))
  return [...parts].sort((one, other) => one - other)
}

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
