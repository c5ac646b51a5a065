import { isUtf8 } from 'node:buffer'
import { ImportError } from './import-error.ts'
import { likelyEncoding } from './likely-encoding.ts'

/** Bytes that are not UTF-8, after all text before them. */
export class NotUtf8 extends Error {
  readonly #bytes: Buffer
  readonly #bad: number

  /** @param bad offset of the first wrong byte */
  constructor(bytes: Buffer, bad: number) {
    super('not UTF-8')
    this.#bytes = bytes
    this.#bad = bad
  }

  /**
   * Returns the error for the byte.
   * @param line line of the byte
   * @param column column of the byte, counted in UTF-16 like in editors
   * @param hasOption true if the user can name another encoding
   */
  at(
    { line, column }: { readonly line: number; readonly column: number },
    hasOption: boolean = true,
  ): ImportError {
    const byte = (this.#bytes[this.#bad] ?? 0).toString(16).toUpperCase().padStart(2, '0')
    return new ImportError(
      `line ${line}: not UTF-8: the byte 0x${byte} in column ${column}; ${adviceFor(this.#bytes, this.#bad, hasOption)}`,
    )
  }
}

function adviceFor(bytes: Buffer, bad: number, hasOption: boolean): string {
  const likely = likelyEncoding(bytes, bad)
  if (likely === 'utf-8')
    return 'other characters of the file are UTF-8, so this one is damaged or was put in from elsewhere: correct it'
  if (likely === undefined)
    return `save the file as UTF-8 where it comes from${hasOption ? ', or name the encoding that it has with --encoding' : ''}`
  const { name, word, encoding } = likely
  const way = hasOption ? `use --encoding ${encoding}` : `convert it: iconv -f ${encoding} -t utf-8`
  return `as ${name} it would be ${JSON.stringify(word)}: if that is right, ${way}`
}

const byteOrderMark = '\ufeff'

/**
 * Decodes text without its byte-order mark, cut between characters.
 * @throws NotUtf8 after the text before it
 */
export async function* utf8Text(chunks: AsyncIterable<Buffer>): AsyncIterable<string> {
  let isFirst = true
  let held: Buffer = Buffer.alloc(0)
  const textOf = (bytes: Buffer) => {
    const text = bytes.toString()
    const marked = isFirst && text.startsWith(byteOrderMark)
    isFirst &&= text === ''
    return marked ? text.slice(1) : text
  }
  for await (const chunk of chunks) {
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    const whole = endOfCharacters(bytes)
    held = Buffer.from(bytes.subarray(whole))
    const text = bytes.subarray(0, whole)
    if (!isUtf8(text)) {
      const bad = badByte(bytes)
      yield textOf(bytes.subarray(0, bad))
      throw new NotUtf8(bytes, bad)
    }
    yield textOf(text)
  }
  if (held.length > 0) throw new NotUtf8(held, 0)
}

/** @returns the end of the last complete character */
function endOfCharacters(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) break
    // The first byte of a character determines its number of bytes.
    if (byte >= 0xc0)
      return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** @returns the offset of the first byte that isn't UTF-8 */
export function badByte(bytes: Buffer): number {
  const text = bytes.toString()
  let place = 0
  let from = 0
  for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', from)) {
    place += Buffer.byteLength(text.slice(from, at))
    // The replacement character itself may be in the text.
    if (bytes.toString('latin1', place, place + 3) !== '\xef\xbf\xbd') return place
    place += 3
    from = at + 1
  }
  return bytes.length
}

/** @param bytes a line that isn't UTF-8, or several lines beginning with this one */
export function notUtf8(bytes: Buffer, firstLine: number): ImportError {
  const bad = badByte(bytes)
  const before = bytes.toString('utf8', 0, bad)
  const start = before.lastIndexOf('\n') + 1
  return new NotUtf8(bytes, bad).at({
    line: firstLine + before.split('\n').length - 1,
    column: before.length - start + 1,
  })
}
