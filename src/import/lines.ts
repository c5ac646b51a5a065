import { isUtf8 } from 'node:buffer'
import { ImportError } from './source.ts'

/** In a longer line, a line break is probably missing. */
export const maxLineBytes = 16 * 1024 * 1024

/** Some whole lines: their text, and the number of the first one, counted from 1. */
export interface Lines {
  readonly first: number
  readonly text: string
}

/** @throws ImportError naming the first line that is not UTF-8, or a line that is too long */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncIterable<Lines> {
  let rest: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  let first = 1
  const take = (bytes: Buffer): Lines => {
    if (!isUtf8(bytes)) throw badEncoding(bytes, first)
    const lines = { first, text: first === 1 ? bytes.toString().replace(/^\ufeff/, '') : bytes.toString() }
    for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) first++
    return lines
  }
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(0x0a) + 1
    if (end === 0) {
      rest = Buffer.concat([rest, chunk])
      if (rest.length > maxLineBytes)
        throw new ImportError(`line ${first}: longer than 16 MB; is a line break missing?`)
      continue
    }
    yield take(Buffer.concat([rest, chunk.subarray(0, end)]))
    rest = chunk.subarray(end)
  }
  if (rest.length > 0) yield take(rest)
}

export function badEncoding(bytes: Buffer, firstLine: number): ImportError {
  let line = firstLine
  for (let from = 0; from < bytes.length; line++) {
    const end = bytes.indexOf(0x0a, from)
    if (end < 0 || !isUtf8(bytes.subarray(from, end))) break
    from = end + 1
  }
  return new ImportError(
    `line ${line}: not UTF-8; convert the file first, for example with \`iconv -f latin1 -t utf-8\``,
  )
}
