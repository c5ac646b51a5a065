import { ImportError } from './import-error.ts'

/** Encodings of text files, by their names on the web. */
export const encodings = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1250',
  'windows-1251',
  'windows-1252',
  'windows-1253',
  'windows-1254',
  'windows-1257',
  'iso-8859-2',
  'iso-8859-15',
  'macintosh',
] as const
export type Encoding = (typeof encodings)[number]

/**
 * Other names of these encodings. ISO 8859-1 is read as Windows-1252, as browsers do. That only adds
 * characters such as quotation marks.
 */
const aliases: Readonly<Record<string, Encoding>> = {
  utf8: 'utf-8',
  'utf-16': 'utf-16le',
  latin1: 'windows-1252',
  'iso-8859-1': 'windows-1252',
  cp1252: 'windows-1252',
  macroman: 'macintosh',
}

export function encodingIn(text: string): Encoding | undefined {
  const name = text.toLowerCase()
  return encodings.find(one => one === name) ?? (Object.hasOwn(aliases, name) ? aliases[name] : undefined)
}

/**
 * @returns the UTF-16 encoding in which the text begins, by its byte-order mark or by the
 * zeros in its first characters
 */
export function utf16Of(start: Buffer): Encoding | undefined {
  const [a = 0, b = 0, c = 0, d = 0] = start
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  if (a === 0xfe && b === 0xff) return 'utf-16be'
  if (start.length < 4) return undefined
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return 'utf-16le'
  return a === 0 && b !== 0 && c === 0 && d !== 0 ? 'utf-16be' : undefined
}

/** Converts text to UTF-8. @throws ImportError naming the place of a byte without meaning in the encoding */
export async function* decoded(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncIterable<Buffer> {
  const place = new Place()
  const decode = encoding.startsWith('utf-16') ? utf16(encoding === 'utf-16be') : singleBytes(encoding)
  const checked = (text: string) => {
    const bad = decode.bad(text)
    place.pass(bad < 0 ? text : text.slice(0, bad))
    if (bad >= 0) throw place.refuse(encoding)
    return Buffer.from(text)
  }
  for await (const chunk of chunks) yield checked(decode.text(chunk))
  const rest = decode.end()
  if (rest !== '') yield checked(rest)
}

interface Decoder {
  text(chunk: Buffer): string
  /** @returns the rest that was held back */
  end(): string
  /** @returns the index of the first invalid character; -1 if there is none */
  bad(text: string): number
}

function utf16(isBigEndian: boolean): Decoder {
  let held: Buffer = Buffer.alloc(0)
  return {
    text: chunk => {
      const bytes = Buffer.concat([held, chunk])
      let whole = bytes.length - (bytes.length % 2)
      const last = bytes[whole - (isBigEndian ? 2 : 1)] ?? 0
      // The second half of the surrogate pair is still to come.
      if (last >= 0xd8 && last <= 0xdb) whole -= 2
      held = bytes.subarray(whole)
      const units = bytes.subarray(0, whole)
      return (isBigEndian ? units.swap16() : units).toString('utf16le')
    },
    // An incomplete character becomes a lone surrogate, which `bad` finds.
    end: () => (held.length === 0 ? '' : '\ud800'),
    bad: text => (text.isWellFormed() ? -1 : text.search(/\p{Cs}/u)),
  }
}

function singleBytes(encoding: Encoding): Decoder {
  const decoder = new TextDecoder(encoding)
  return {
    text: chunk => decoder.decode(chunk),
    end: () => '',
    // Bytes without meaning are decoded to these characters.
    bad: text => text.search(/[\u0080-\u009f\ufffd]/),
  }
}

class Place {
  #line = 1
  #column = 1

  pass(text: string): void {
    const start = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
    this.#line += text.match(/\r\n|\n|\r/g)?.length ?? 0
    this.#column = text.length - start + (start === 0 ? this.#column : 1)
  }

  refuse(encoding: Encoding): ImportError {
    return new ImportError(
      `column ${this.#column} has no character of ${encoding}; name the encoding that the file has with --encoding, or save it as UTF-8`,
      { line: this.#line },
    )
  }
}
