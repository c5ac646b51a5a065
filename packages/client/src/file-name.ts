import { decodeExtended, parse } from 'content-disposition'

/** Characters of a name that move the cursor, or turn the direction of what stands around it. */
const unseen = /[\p{Cc}\p{Bidi_Control}]/gu

/**
 * The name that a `Content-Disposition` gives a file, without folders and without what can't be seen.
 * @returns undefined where there is none, or it can't be read
 */
export function fileNameIn(header: string): string | undefined {
  // RFC 6266 §4.3: the encoded name is the better one, and the plain one stands in where that can't be read.
  const { 'filename*': encoded, filename } = parse(header, { extended: false }).parameters
  const name = (encoded === undefined ? undefined : decodeExtended(encoded)) ?? asUtf8(filename)
  // RFC 6266 §4.3: only the last part of a path may be used.
  const last = name?.split(/[/\\]/).at(-1)?.replace(unseen, '').trim()
  return last && !/^\.+$/.test(last) ? last : undefined
}

/** Some servers send UTF-8 as it is. Headers are read as ISO-8859-1, so each of its bytes is a character. */
function asUtf8(text: string | undefined): string | undefined {
  if (text === undefined || !/^[\0-\xff]*$/.test(text)) return text
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(text, one => one.charCodeAt(0)))
  } catch {
    return text
  }
}
