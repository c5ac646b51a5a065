import { decodeExtended, parse } from 'content-disposition'

/**
 * Control characters, which can move the cursor, and characters that change the direction of the text around
 * them.
 */
const unseen = /[\p{Cc}\p{Bidi_Control}]/gu

/**
 * Returns the file name of a `Content-Disposition` header, without folders and invisible characters.
 *
 * @returns undefined if there is no name, or it can't be decoded
 */
export function fileNameIn(header: string): string | undefined {
  // RFC 6266 §4.3: the encoded name is preferred; the plain one is used if the encoded one can't be decoded.
  const { 'filename*': encoded, filename } = parse(header, { extended: false }).parameters
  const name = (encoded === undefined ? undefined : decodeExtended(encoded)) ?? asUtf8(filename)
  // RFC 6266 §4.3: only the last part of a path may be used.
  const last = name?.split(/[/\\]/).at(-1)?.replace(unseen, '').trim()
  return last && !/^\.+$/.test(last) ? last : undefined
}

/**
 * Decodes UTF-8 that a server sent unencoded. Headers are read as ISO-8859-1, so each byte appears as a
 * character.
 */
function asUtf8(text: string | undefined): string | undefined {
  if (text === undefined || !/^[\0-\xff]*$/.test(text)) return text
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(text, one => one.charCodeAt(0)))
  } catch {
    return text
  }
}
