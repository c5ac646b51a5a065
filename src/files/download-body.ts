import { randomBytes } from 'node:crypto'
import type { ByteRange } from './ranges.ts'
import type { PieceReader } from './read-pieces.ts'

/** The body of a response: the whole file, a part of it, or several parts (RFC 9110 §14.6). */
export interface Body {
  readonly headers: Readonly<Record<string, string | number>>
  /**
   * Pieces, each in memory of its own until the reader has it back. The file must stay open until they end.
   */
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
