import type { FileHandle } from 'node:fs/promises'
import { free as freeNow } from '../http/send-pieces.ts'
import type { Counter } from '../lib/counter.ts'
import type { ByteRange } from './ranges.ts'

/** In bytes. All that a slow client's transfer holds in memory: there may be thousands of them. */
const smallPiece = 64 * 1024
/** In bytes. A fast client gets larger pieces, as each costs a trip to the disk, and the next is read while one is sent. */
const largePiece = 512 * 1024
/** How many large pieces all transfers together may hold: 16 MiB. Without one, a transfer goes on in small ones. */
const maxLargePieces = 32
/** In ms. A client that takes longer over a piece is slow. */
const maxTime = 100
/** In bytes. A client is fast that took so many since it was slow: more than the network takes from one that reads nothing. */
const fastAfter = 16 * 1024 * 1024

export interface PieceReader {
  /**
   * Yields exactly these bytes. The file must stay open until the iterator ends.
   * @throws Error if bytes are missing: the connection is then closed, because a response that just ends would look
   * complete
   */
  read(range: ByteRange): AsyncGenerator<Buffer, void, undefined>
  /** Takes back a piece that was sent: it holds the next bytes, or its memory is freed. */
  release(piece: Uint8Array): void
  /** Frees what was kept for the next pieces. */
  close(): void
}

/**
 * Reads a file at the pace of one client. `createReadStream` would read ahead for a slow one, leave its buffers to the
 * garbage collector, and end without an error if the file has become shorter.
 * @param largePieces counts those of all transfers
 */
export function createPieceReader(file: FileHandle, largePieces: Counter): PieceReader {
  const own = new Set<ArrayBufferLike>()
  const spare: ArrayBuffer[] = []
  let counted = 0
  let takenAtOnce = 0
  let isClosed = false

  function uncount(): void {
    counted--
    largePieces.remove()
  }

  const isFast = () => takenAtOnce >= fastAfter

  function allocate(length: number): Buffer<ArrayBuffer> {
    if (isFast() && length > smallPiece) {
      const kept = spare.pop()
      if (kept) return Buffer.from(kept, 0, Math.min(length, largePiece))
      if (largePieces.add(maxLargePieces)) {
        counted++
        const { buffer } = Buffer.allocUnsafeSlow(largePiece)
        own.add(buffer)
        return Buffer.from(buffer, 0, Math.min(length, largePiece))
      }
    }
    const piece = Buffer.allocUnsafeSlow(Math.min(length, smallPiece))
    own.add(piece.buffer)
    return piece
  }

  function free(memory: ArrayBuffer): void {
    own.delete(memory)
    if (memory.byteLength === largePiece && !isClosed) uncount()
    freeNow(new Uint8Array(memory))
  }

  async function readAt(at: number, end: number): Promise<Buffer<ArrayBuffer>> {
    const piece = allocate(end + 1 - at)
    let { length } = piece
    try {
      length = (await file.read(piece, 0, piece.length, at)).bytesRead
    } catch (error) {
      free(piece.buffer)
      throw error
    }
    if (length > 0) return piece.subarray(0, length)
    free(piece.buffer)
    throw new Error(`a content ends at byte ${at}; run \`carrel files verify\` to find out which`)
  }

  const release = ({ buffer }: Uint8Array) => {
    // Such as the head of a part, which is in memory that others share.
    if (!(buffer instanceof ArrayBuffer) || !own.has(buffer)) return
    if (isFast() && !isClosed && buffer.byteLength === largePiece) spare.push(buffer)
    else free(buffer)
  }

  function freeSpare(): void {
    for (const memory of spare.splice(0)) free(memory)
  }

  return {
    async *read({ start, end }) {
      let ahead: Promise<Buffer<ArrayBuffer>> | undefined
      try {
        for (let at = start; at <= end; ) {
          const piece = await (ahead ?? readAt(at, end))
          const { length } = piece
          at += length
          ahead = counted > 0 && at <= end ? readAt(at, end) : undefined
          // A failure counts when its bytes are asked for.
          ahead?.catch(() => {})
          const sent = performance.now()
          yield piece
          const isSlow = performance.now() - sent > maxTime
          takenAtOnce = isSlow ? 0 : takenAtOnce + length
          if (isSlow) freeSpare()
        }
      } finally {
        const unsent = await ahead?.catch(() => undefined)
        if (unsent) release(unsent)
      }
    },
    release,
    close: () => {
      freeSpare()
      // The connection may be lost, and what it had not sent with it.
      while (counted > 0) uncount()
      isClosed = true
    },
  }
}
