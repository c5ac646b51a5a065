import { ImportError } from './import-error.ts'

/**
 * Maximum bytes of a line of NDJSON, an element of a JSON array, or a row of CSV. The end of a longer
 * one is probably missing.
 */
export const maxLineBytes = 16 * 1024 * 1024

/** Returns the text of some lines, without the byte-order mark of the first one. */
export const textFrom = (first: number, bytes: Buffer): string =>
  first === 1 ? bytes.toString().replace(/^\ufeff/, '') : bytes.toString()

/** Complete lines as bytes, and the number of the first one, counted from 1. */
export interface RawLines {
  readonly first: number
  readonly bytes: Buffer
}

/**
 * Cuts bytes into blocks of complete lines.
 * @param least number of bytes to wait for
 * @throws ImportError naming a line that is too long, after the lines before it
 */
export async function* wholeLines(chunks: AsyncIterable<Buffer>, least: number): AsyncIterable<RawLines> {
  let pieces: Buffer[] = []
  /** Number of bytes held, and of those in complete lines. */
  let held = 0
  let whole = 0
  let first = 1
  const take = (length: number): RawLines => {
    const all = Buffer.concat(pieces)
    const lines = { first, bytes: all.subarray(0, length) }
    pieces = [all.subarray(length)]
    held -= length
    whole = 0
    for (let at = lines.bytes.indexOf(0x0a); at >= 0; at = lines.bytes.indexOf(0x0a, at + 1)) first++
    return lines
  }
  try {
    for await (const chunk of chunks) {
      const end = chunk.lastIndexOf(0x0a) + 1
      pieces.push(chunk)
      if (end > 0) whole = held + end
      held += chunk.length
      if (whole > 0 && whole >= least) yield take(whole)
      else if (held - whole > maxLineBytes) {
        if (whole > 0) yield take(whole)
        throw new ImportError(`line ${first}: longer than 16 MB; is a line break missing?`)
      }
    }
  } catch (error) {
    // The preceding lines are passed on before the error.
    if (whole > 0) yield take(whole)
    throw error
  }
  if (held > 0) yield take(held)
}
