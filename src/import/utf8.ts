import { isUtf8 } from 'node:buffer'
import { ImportError } from './import-error.ts'

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
      `not UTF-8: the byte 0x${byte} in column ${column}; ${adviceFor(this.#bytes, this.#bad, hasOption)}`,
      { line },
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

/** Decodes text without its byte-order mark, cut between characters. @throws NotUtf8 after the text before it */
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
function badByte(bytes: Buffer): number {
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

/** Encodings of files that don't declare one, likelier ones first. */
const candidates = [
  { encoding: 'windows-1252', name: 'Windows-1252' },
  { encoding: 'macintosh', name: 'Mac Roman' },
] as const

/** An encoding in which bytes that aren't UTF-8 read well, and the word around the first such byte in that encoding. */
interface Likely {
  readonly encoding: (typeof candidates)[number]['encoding']
  readonly name: string
  readonly word: string
}

/** Number of bytes that are examined before the first wrong byte and after it. */
const window = 64 * 1024
/** Maximum characters shown of a word, before the wrong byte and after it. */
const maxWord = 40

/**
 * Guesses the encoding of bytes that aren't all UTF-8.
 * @param bad offset of the first byte that isn't UTF-8
 * @returns `utf-8` if most of the text is UTF-8; undefined if no encoding fits
 */
function likelyEncoding(bytes: Buffer, bad: number): Likely | 'utf-8' | undefined {
  const sample = bytes.subarray(Math.max(0, bad - window), bad + window)
  const text = sample.toString()
  const damaged = text.match(/\ufffd/g)?.length ?? 0
  const whole = text.match(/[\u0080-\ufffc\u{10000}-\u{10ffff}]/gu)?.length ?? 0
  if (whole >= damaged) return 'utf-8'
  for (const one of candidates) {
    const decoded = new TextDecoder(one.encoding).decode(sample)
    if (!readsWell(decoded)) continue
    // Each byte is a single character in these encodings.
    const at = Math.min(bad, window)
    const before = /[^\s,;|"]*$/.exec(decoded.slice(0, at))?.[0] ?? ''
    const after = /^[^\s,;|"]*/.exec(decoded.slice(at))?.[0] ?? ''
    return { ...one, word: before.slice(-maxWord) + after.slice(0, maxWord) }
  }
  return undefined
}

/** Minimum share of the non-ASCII characters that must be in places typical for them. */
const leastGood = 0.95

/** True if accented letters are in words and punctuation is between words, as in Western European languages. */
function readsWell(text: string): boolean {
  let good = 0
  let all = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character <= '\x7f') continue
    all++
    if (fits(text[at - 1] ?? ' ', character, text[at + 1] ?? ' ', text[at + 2] ?? ' ')) good++
  }
  return all > 0 && good >= leastGood * all
}

const isLetter = (character: string) => /^\p{L}$/u.test(character)
const isUpper = (character: string) => /^\p{Lu}$/u.test(character)
const isLower = (character: string) => /^\p{Ll}$/u.test(character)

function fits(before: string, character: string, after: string, next: string): boolean {
  if (isLetter(character) && !/[ªºƒ]/.test(character)) {
    // Three non-ASCII letters in a row indicate another alphabet.
    if ([before, after].every(one => one > '\x7f' && isLetter(one))) return false
    if (after > '\x7f' && next > '\x7f' && isLetter(after) && isLetter(next)) return false
    return !(isUpper(character) && isLower(before))
  }
  if (/[‘’'´`]/.test(character)) return true
  if (/[\u00a0“”„‚\u00ab\u00bb‹›–—…•·¡¿§©®™°²³ªº½¼¾€£±×†]/.test(character))
    return !(isLetter(before) && isLetter(after) && !/[–—·…\u00a0]/.test(character))
  return false
}

/**
 * Maximum bytes of a line of NDJSON, an element of a JSON array, or a row of CSV. The end of a longer
 * one is probably missing.
 */
export const maxLineBytes = 16 * 1024 * 1024

/** Returns the text of some lines, without the byte-order mark of the first one. */
export const textFrom = (first: number, bytes: Buffer): string =>
  first === 1 ? bytes.toString().replace(/^\ufeff/, '') : bytes.toString()

/** Complete lines as bytes, and the number of the first one, counted from 1. */
interface RawLines {
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
        throw new ImportError(`longer than 16 MB; is a line break missing?`, { line: first })
      }
    }
  } catch (error) {
    // The preceding lines are passed on before the error.
    if (whole > 0) yield take(whole)
    throw error
  }
  if (held > 0) yield take(held)
}
