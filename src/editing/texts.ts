/** What the store can keep, as an ingest has it. Both return why a text can't be kept, and undefined if it can. */

/** Bytes of a name, of a language, and of the name of a metadata field. */
const maxLineBytes = 500
/** Characters of a value. */
const maxText = 100_000

/** One line, not empty and not too long. */
export function lineFault(text: string): string | undefined {
  if (text.trim() === '') return 'is empty'
  if (/\p{Cc}/u.test(text)) return 'contains a control character'
  if (Buffer.byteLength(text) > maxLineBytes) return `is longer than ${maxLineBytes} bytes`
  return formFault(text)
}

/** Line ends and tabs are allowed. */
export function textFault(text: string): string | undefined {
  if (/[^\P{Cc}\t\n\r\x80-\x9f]/u.test(text)) return 'contains a control character'
  if (text.length > maxText) return `is longer than ${maxText} characters`
  return formFault(text)
}

const formFault = (text: string) =>
  text.isWellFormed() ? undefined : 'contains half a surrogate pair, which is not valid Unicode'
