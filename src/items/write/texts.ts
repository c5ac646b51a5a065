/**
 * Checks of texts that the store can keep, the same as for an ingest. Both return why a text can't be kept;
 * undefined if it can.
 */

/** Maximum number of bytes in a name, in a language, and in the name of a metadata field. */
const maxLineBytes = 500
/** Maximum number of characters in a value. */
const maxText = 100_000

/** Checks a line, which must not be empty or too long. */
export function lineFault(text: string): string | undefined {
  if (text.trim() === '') return 'is empty'
  if (/\p{Cc}/u.test(text)) return 'contains a control character'
  if (Buffer.byteLength(text) > maxLineBytes) return `is longer than ${maxLineBytes} bytes`
  return formFault(text)
}

/** Checks a text, which may have line ends and tabs. */
export function textFault(text: string): string | undefined {
  if (/[^\P{Cc}\t\n\r\x80-\x9f]/u.test(text)) return 'contains a control character'
  if (text.length > maxText) return `is longer than ${maxText} characters`
  return formFault(text)
}

const formFault = (text: string) =>
  text.isWellFormed() ? undefined : 'contains half a surrogate pair, which is not valid Unicode'
