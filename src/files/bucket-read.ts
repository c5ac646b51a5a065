import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { bodyPieces } from '../http/body-pieces.ts'
import { free } from '../http/send-pieces.ts'
import { FilesUnavailable, WrongAnswer } from '../lib/errors.ts'
import { maxBefore } from './bucket-answers.ts'
import type { BucketClient } from './bucket-client.ts'
import type { Part, StreamedPart, Wanted } from './bucket-requests.ts'
import type { Opened } from './opened.ts'
import type { ByteRange } from './ranges.ts'

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
  const bytes = new ObjectBytes(client, key, first?.end, expected)
  const size =
    first === undefined || first.end < first.start
      ? await client.size(key)
      : await bytes.begin(first.start, Math.min(firstPiece, first.end - first.start + 1))
  if (size === undefined) return undefined
  if (expected !== undefined && size !== expected)
    throw new WrongAnswer(`${key}: it has ${size} bytes instead of ${expected}`)
  bytes.size = size
  return {
    size,
    expect: to => {
      bytes.last = to
    },
    read: async (into, offset, wanted, position) => {
      const bytesRead = Math.max(0, Math.min(wanted, size - position))
      await bytes.read(into.subarray(offset, offset + bytesRead), position)
      return { bytesRead }
    },
    close: async () => bytes.drop(),
  }
}

/** The bytes of an object, from as many answers as it takes. */
class ObjectBytes {
  readonly #client: BucketClient
  readonly #key: string
  /** The last byte that the reader expects to read. */
  last: number
  size: number | undefined
  #mostBefore = maxBefore
  #stream: Stream | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(
    client: BucketClient,
    key: string,
    last = Number.MAX_SAFE_INTEGER,
    size: number | undefined = undefined,
  ) {
    this.#client = client
    this.#key = key
    this.last = last
    this.size = size
  }

  /** Asks for the first bytes. @returns the size of the object; undefined if there is none */
  async begin(at: number, least: number): Promise<number | undefined> {
    return (await this.#ask(at, least))?.size
  }

  /** Fills the buffer with the bytes from `at`. */
  async read(into: Buffer, at: number): Promise<void> {
    clearTimeout(this.#idle)
    await this.#fill(into, at)
    this.#idle = setTimeout(() => this.drop(), maxIdle).unref()
  }

  drop(): void {
    clearTimeout(this.#idle)
    this.#stream?.close()
    this.#stream = undefined
  }

  async #fill(into: Buffer, at: number): Promise<void> {
    let filled = 0
    for (let retries = 0, came = 0; filled < into.length; ) {
      if (this.#stream?.at !== at + filled || this.#stream.at > this.#stream.end) {
        this.drop()
        if (!(await this.#ask(at + filled, into.length - filled)))
          throw new FilesUnavailable('a content was deleted while it was being read')
      }
      const current = this.#stream
      if (!current) continue
      if (current.rest.length === 0) {
        const chunk = await next(current)
        if (!chunk) {
          this.drop()
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

  /** @param least the number of bytes that are read at once */
  async #ask(at: number, least: number): Promise<Part | StreamedPart | undefined> {
    const lastByte = this.size === undefined ? Number.MAX_SAFE_INTEGER : this.size - 1
    const enough = Math.min(lastByte, at + least - 1)
    const isAtOnce = streams >= maxStreams || this.last <= enough
    const wanted = {
      start: at,
      end: isAtOnce ? enough : Math.min(lastByte, this.last),
      size: this.size,
      mostBefore: this.#mostBefore,
    }
    const part = isAtOnce ? await this.#client.read(this.#key, wanted) : await this.#open(wanted)
    if (part) this.#mostBefore -= part.before
    if (part && 'bytes' in part) this.#stream = whole(part.bytes, at, enough)
    else if (part) this.#stream = follow(part, at, Math.min(wanted.end, part.size - 1))
    return part
  }

  /** Begins an answer, which counts until it is closed. */
  async #open(wanted: Wanted): Promise<StreamedPart | undefined> {
    streams++
    let part: StreamedPart | undefined
    try {
      part = await this.#client.stream(this.#key, wanted)
      return part
    } finally {
      if (!part) streams--
    }
  }
}

/** The stream of bytes that are all there. */
const whole = (rest: Buffer, at: number, end: number): Stream => ({
  body: undefined,
  chunks: undefined,
  before: 0,
  at,
  end,
  rest,
  close: () => {},
})

function follow({ body, before }: StreamedPart, at: number, end: number): Stream {
  let isOpen = true
  const chunks = bodyPieces(body)
  freeReads(body.socket)
  // Errors come to the reader; one after that would end the process.
  body.on('error', () => {})
  return {
    body,
    chunks,
    before,
    at,
    end,
    rest: none,
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
