import { randomBytes } from 'node:crypto'
import { free as freeNow } from '../http/send-pieces.ts'
import type { Counter } from '../lib/counter.ts'
import type { Opened } from './opened.ts'
import type { ByteRange } from './ranges.ts'

/** Size of a small piece in bytes. A slow client's transfer holds no more in memory, because there may be thousands. */
const smallPiece = 64 * 1024
/**
 * Size of a large piece in bytes, for fast clients: each piece costs a trip to the disk, and the next is read
 * while one is sent.
 */
const largePiece = 512 * 1024
/**
 * Maximum number of large pieces that all transfers together hold: 16 MiB. Without one, a transfer goes on in
 * small ones.
 */
const maxLargePieces = 32
/** Time in ms after which a client is slow if it hasn't taken a piece. */
const maxTime = 100
/**
 * Bytes that a client must take without being slow before it counts as fast: more than the network takes from
 * one that reads nothing.
 */
const fastAfter = 16 * 1024 * 1024

export interface PieceReader {
  /**
   * Yields exactly these bytes. The file must stay open until the iterator ends.
   * @throws Error if bytes are missing: the connection is then closed, because a response that just ends
   * would look complete
   */
  read(range: ByteRange): AsyncGenerator<Buffer, void, undefined>
  /** Takes back a piece that was sent, whose memory holds the next bytes or is freed. */
  release(piece: Uint8Array): void
  /** Frees what was kept for the next pieces. */
  close(): void
}

/** The memory of the pieces of one transfer. */
class PieceMemory {
  readonly #largePieces: Counter
  readonly #own = new Set<ArrayBufferLike>()
  readonly #spare: ArrayBuffer[] = []
  /** Number of large pieces that are held. */
  #counted = 0
  #takenAtOnce = 0
  #isClosed = false

  constructor(largePieces: Counter) {
    this.#largePieces = largePieces
  }

  get hasLarge(): boolean {
    return this.#counted > 0
  }

  get #isFast(): boolean {
    return this.#takenAtOnce >= fastAfter
  }

  /** @returns a piece of this length, or as much of it as a piece has */
  allocate(length: number): Buffer<ArrayBuffer> {
    if (this.#isFast && length > smallPiece) {
      const kept = this.#spare.pop()
      if (kept) return Buffer.from(kept, 0, Math.min(length, largePiece))
      if (this.#largePieces.add(maxLargePieces)) {
        this.#counted++
        const { buffer } = Buffer.allocUnsafeSlow(largePiece)
        this.#own.add(buffer)
        return Buffer.from(buffer, 0, Math.min(length, largePiece))
      }
    }
    const piece = Buffer.allocUnsafeSlow(Math.min(length, smallPiece))
    this.#own.add(piece.buffer)
    return piece
  }

  /** Records how many bytes the client has taken, and whether it was slow to take them. */
  noteTaken(length: number, isSlow: boolean): void {
    this.#takenAtOnce = isSlow ? 0 : this.#takenAtOnce + length
    if (isSlow) this.#freeSpare()
  }

  release({ buffer }: Uint8Array): void {
    // The head of a part, for example, is in memory that is shared with others.
    if (!(buffer instanceof ArrayBuffer) || !this.#own.has(buffer)) return
    if (this.#isFast && !this.#isClosed && buffer.byteLength === largePiece) this.#spare.push(buffer)
    else this.free(buffer)
  }

  free(memory: ArrayBuffer): void {
    this.#own.delete(memory)
    if (memory.byteLength === largePiece && !this.#isClosed) this.#uncount()
    freeNow(new Uint8Array(memory))
  }

  close(): void {
    this.#freeSpare()
    // The connection may be lost, and with it the pieces that were not sent.
    while (this.hasLarge) this.#uncount()
    this.#isClosed = true
  }

  #freeSpare(): void {
    for (const memory of this.#spare.splice(0)) this.free(memory)
  }

  #uncount(): void {
    this.#counted--
    this.#largePieces.remove()
  }
}

/**
 * Reads a file at the pace of one client. `createReadStream` would read ahead for a slow one, leave its
 * buffers to the garbage collector, and end without an error if the file has become shorter.
 * @param largePieces counts the large pieces of all transfers
 */
export function createPieceReader(file: Pick<Opened, 'read' | 'expect'>, largePieces: Counter): PieceReader {
  const memory = new PieceMemory(largePieces)

  async function readAt(at: number, end: number): Promise<Buffer<ArrayBuffer>> {
    const piece = memory.allocate(end + 1 - at)
    let { length } = piece
    try {
      length = (await file.read(piece, 0, piece.length, at)).bytesRead
    } catch (error) {
      memory.free(piece.buffer)
      throw error
    }
    if (length > 0) return piece.subarray(0, length)
    memory.free(piece.buffer)
    throw new Error(`a content ends at byte ${at}; run \`carrel files verify\` to find out which`)
  }

  return {
    async *read({ start, end }) {
      let ahead: Promise<Buffer<ArrayBuffer>> | undefined
      file.expect(end)
      try {
        for (let at = start; at <= end; ) {
          const piece = await (ahead ?? readAt(at, end))
          const { length } = piece
          at += length
          ahead = memory.hasLarge && at <= end ? readAt(at, end) : undefined
          // A failure is thrown when its bytes are asked for.
          ahead?.catch(() => {})
          const sent = performance.now()
          yield piece
          memory.noteTaken(length, performance.now() - sent > maxTime)
        }
      } finally {
        const unsent = await ahead?.catch(() => undefined)
        if (unsent) memory.release(unsent)
      }
    },
    release: piece => memory.release(piece),
    close: () => memory.close(),
  }
}

/** The body of a response: the whole file, a part of it, or several parts (RFC 9110 §14.6). */
export interface Body {
  readonly headers: Readonly<Record<string, string | number>>
  /** Pieces, each in memory of its own until the reader has it back. The file must stay open until they end. */
  readonly pieces: AsyncIterator<Uint8Array>
}

/** Makes a body of one or more ranges. @param size size of the file @param type media type of the file */
export function partialBody(
  reader: PieceReader,
  ranges: readonly ByteRange[],
  size: number,
  type: string,
): Body {
  const [range, ...more] = ranges
  if (range && more.length === 0)
    return {
      headers: { 'content-range': contentRange(range, size), 'content-length': lengthOf(range) },
      pieces: reader.read(range),
    }
  const boundary = randomBytes(18).toString('base64url')
  const parts = ranges.map(one => ({
    range: one,
    head: Buffer.from(
      `\r\n--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${contentRange(one, size)}\r\n\r\n`,
    ),
  }))
  const end = Buffer.from(`\r\n--${boundary}--\r\n`)
  async function* pieces() {
    for (const part of parts) {
      yield part.head
      yield* reader.read(part.range)
    }
    yield end
  }
  const length = parts.reduce((sum, part) => sum + part.head.length + lengthOf(part.range), end.length)
  return {
    headers: { 'content-type': `multipart/byteranges; boundary=${boundary}`, 'content-length': length },
    pieces: pieces(),
  }
}

export const wholeBody = (reader: PieceReader, size: number): Body => ({
  headers: { 'content-length': size },
  pieces: reader.read({ start: 0, end: size - 1 }),
})

const lengthOf = ({ start, end }: ByteRange) => end - start + 1
const contentRange = ({ start, end }: ByteRange, size: number) => `bytes ${start}-${end}/${size}`
