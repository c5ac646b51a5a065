import { ImportError } from './import-error.ts'

/** White space in a row, in bytes: more than anyone leaves between two records. */
const maxBlankBytes = 16 * 1024 * 1024

/** A file that unpacks to no more than this, in bytes, may be packed as tightly as it likes. */
const freelyUnpacked = 64 * 1024 * 1024
/** How many times its size a file may unpack to. Records are packed 5 to 50 times; the fastest level of gzip reaches 230 and the best 1,030. */
const maxExpansion = 150

/**
 * Passes the bytes on until white space has no end.
 * @param lineAt finds the line of a byte
 * @throws ImportError naming the line that the white space begins on
 */
export async function* refuseBlank(
  chunks: AsyncIterable<Buffer>,
  lineAt: (offset: number) => Promise<number>,
): AsyncIterable<Buffer> {
  let read = 0
  /** Where the white space begins that all that was read ends with. */
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

/** @returns the offset after the last byte that is no white space; 0 if all are */
function endOfText(chunk: Buffer): number {
  let end = chunk.length
  while (end > 0 && isBlank(chunk[end - 1] as number)) end--
  return end
}

const isBlank = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)

/** @returns the number of the line that this byte is in */
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
 * Passes unpacked bytes on until they are too many for the packed ones.
 * @param packed how many bytes were unpacked so far
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
