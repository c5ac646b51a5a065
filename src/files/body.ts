import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ByteRange } from './ranges.ts'

/** What goes out: the whole file, a part of it, or several (RFC 9110 §14.6). The file is closed when the body ends. */
export interface Body {
  readonly headers: Readonly<Record<string, string | number>>
  readonly stream: () => Readable
}

/** @param ranges one or more @param size of the file @param type its media type */
export function partsOf(file: FileHandle, ranges: readonly ByteRange[], size: number, type: string): Body {
  const [range, ...more] = ranges
  if (range && more.length === 0)
    return {
      headers: { 'content-range': contentRange(range, size), 'content-length': lengthOf(range) },
      stream: () => file.createReadStream({ start: range.start, end: range.end }),
    }
  const boundary = randomBytes(18).toString('base64url')
  const heads = ranges.map(one =>
    Buffer.from(
      `\r\n--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${contentRange(one, size)}\r\n\r\n`,
    ),
  )
  const end = Buffer.from(`\r\n--${boundary}--\r\n`)
  async function* pieces() {
    try {
      for (const [at, one] of ranges.entries()) {
        yield heads[at]
        yield* file.createReadStream({ start: one.start, end: one.end, autoClose: false })
      }
      yield end
    } finally {
      await file.close()
    }
  }
  const length = ranges.reduce((sum, one, at) => sum + (heads[at]?.length ?? 0) + lengthOf(one), end.length)
  return {
    headers: { 'content-type': `multipart/byteranges; boundary=${boundary}`, 'content-length': length },
    stream: () => Readable.from(pieces(), { objectMode: false }),
  }
}

export const wholeOf = (file: FileHandle, size: number): Body => ({
  headers: { 'content-length': size },
  stream: () => file.createReadStream(),
})

const lengthOf = ({ start, end }: ByteRange) => end - start + 1
const contentRange = ({ start, end }: ByteRange, size: number) => `bytes ${start}-${end}/${size}`
