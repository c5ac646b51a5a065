import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { ByteRange } from './ranges.ts'

/** The body of a response: the whole file, a part of it, or several parts (RFC 9110 §14.6). */
export interface Body {
  readonly headers: Readonly<Record<string, string | number>>
  /** Each in its own buffer. The file must stay open until they end. */
  readonly pieces: AsyncIterator<Uint8Array>
}

/** In bytes. A transfer holds one piece in memory that its client hasn't taken yet: many clients may be slow. */
const pieceSize = 64 * 1024

/** @param ranges one or more @param size of the file @param type its media type */
export function partialBody(
  file: FileHandle,
  ranges: readonly ByteRange[],
  size: number,
  type: string,
): Body {
  const [range, ...more] = ranges
  if (range && more.length === 0)
    return {
      headers: { 'content-range': contentRange(range, size), 'content-length': lengthOf(range) },
      pieces: bytesOf(file, range),
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
      yield* bytesOf(file, part.range)
    }
    yield end
  }
  const length = parts.reduce((sum, part) => sum + part.head.length + lengthOf(part.range), end.length)
  return {
    headers: { 'content-type': `multipart/byteranges; boundary=${boundary}`, 'content-length': length },
    pieces: pieces(),
  }
}

export const wholeBody = (file: FileHandle, size: number): Body => ({
  headers: { 'content-length': size },
  pieces: bytesOf(file, { start: 0, end: size - 1 }),
})

/**
 * Yields exactly these bytes. `createReadStream` would read ahead, leave its buffers to the garbage collector, and end
 * without an error if the file has become shorter.
 * @throws Error if bytes are missing: the connection is then closed, because a response that just ends would look complete
 */
async function* bytesOf(file: FileHandle, { start, end }: ByteRange) {
  for (let at = start; at <= end; ) {
    const piece = Buffer.allocUnsafeSlow(Math.min(pieceSize, end + 1 - at))
    const { bytesRead } = await file.read(piece, 0, piece.length, at)
    if (bytesRead === 0)
      throw new Error(`a content ends at byte ${at}; run \`carrel files verify\` to find out which`)
    at += bytesRead
    yield bytesRead === piece.length ? piece : piece.subarray(0, bytesRead)
  }
}

const lengthOf = ({ start, end }: ByteRange) => end - start + 1
const contentRange = ({ start, end }: ByteRange, size: number) => `bytes ${start}-${end}/${size}`
