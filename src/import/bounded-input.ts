import { ImportError } from './import-error.ts'

/** Maximum length of consecutive white space in bytes; real files have less between two records. */
const maxBlankBytes = 16 * 1024 * 1024

/** Size in bytes up to which a file may unpack at any ratio. */
const freelyUnpacked = 64 * 1024 * 1024
/**
 * Maximum ratio of unpacked to packed size. Records are packed 5 to 50 times; the fastest level of gzip
 * reaches 230 and the best 1,030.
 */
const maxExpansion = 150

/**
 * Passes bytes on, but refuses endless white space.
 * @param lineAt finds the line of a byte
 * @throws ImportError naming the line on which the white space begins
 */
export async function* refuseBlank(
  chunks: AsyncIterable<Buffer>,
  lineAt: (offset: number) => Promise<number>,
): AsyncIterable<Buffer> {
  let read = 0
  /** Offset of the white space at the end of what was read so far. */
  let from = 0
  for await (const chunk of chunks) {
    read += chunk.length
    const end = endOfText(chunk)
    if (end > 0) from = read - chunk.length + end
    if (read - from > maxBlankBytes)
      throw new ImportError(
        `line ${await lineAt(from)}: more than 16 MB of white space begin here; remove them, if the records go on after them`,
      )
    yield chunk
  }
}

/** @returns the offset after the last byte that is not white space; 0 if there is none */
function endOfText(chunk: Buffer): number {
  let end = chunk.length
  while (end > 0 && isBlank(chunk[end - 1] as number)) end--
  return end
}

const isBlank = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)

/** @returns the number of the line that contains this byte */
export async function lineAt(chunks: AsyncIterable<Buffer>, offset: number): Promise<number> {
  let line = 1
  let read = 0
  for await (const chunk of chunks) {
    const before = chunk.subarray(0, offset - read)
    for (let at = before.indexOf(0x0a); at >= 0; at = before.indexOf(0x0a, at + 1)) line++
    read += chunk.length
    if (read >= offset) break
  }
  return line
}

/**
 * Passes unpacked bytes on, until there are too many for the packed ones.
 * @param packed number of bytes that were unpacked so far
 */
export async function* refuseExpansion(
  name: string,
  chunks: AsyncIterable<Buffer>,
  packed: () => number,
): AsyncIterable<Buffer> {
  let read = 0
  for await (const chunk of chunks) {
    read += chunk.length
    if (read > freelyUnpacked && read > maxExpansion * packed())
      throw new ImportError(
        `${name} unpacks to more than ${maxExpansion} times its size; if that is right, unpack it first, and import the unpacked file`,
      )
    yield chunk
  }
}
