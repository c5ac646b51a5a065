import { ImportError } from './import-error.ts'

/** The largest line of NDJSON, element of a JSON array, and row of CSV. In a longer one, its end is probably missing. */
export const maxLineBytes = 16 * 1024 * 1024

/** The text of some lines, without the byte-order mark of the first. */
export const textFrom = (first: number, bytes: Buffer): string =>
  first === 1 ? bytes.toString().replace(/^\ufeff/, '') : bytes.toString()

/** Some whole lines as they are, and the number of the first one, counted from 1. */
export interface RawLines {
  readonly first: number
  readonly bytes: Buffer
}

/**
 * @param least how many bytes to wait for
 * @throws ImportError naming a line that is too long, after the lines before it
 */
export async function* wholeLines(chunks: AsyncIterable<Buffer>, least: number): AsyncIterable<RawLines> {
  let pieces: Buffer[] = []
  /** How many bytes are held, and how many of them are whole lines. */
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
    // The lines before are good.
    if (whole > 0) yield take(whole)
    throw error
  }
  if (held > 0) yield take(held)
}
