/** What is wrong with the quotes of a row of CSV, and where: offsets in its bytes. */
export type QuoteFault =
  /** A quoted cell that begins at `from` has no end. */
  | { readonly kind: 'open'; readonly from: number }
  /** Text follows the double quote at `to`, which closes a cell that begins at `from`. */
  | { readonly kind: 'closed early'; readonly from: number; readonly to: number }
  /** There is a double quote inside a cell that doesn't begin with one. */
  | { readonly kind: 'inside'; readonly from: number }

const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d
const isBlank = (byte: number | undefined) => byte === 0x20 || byte === 0x09

/**
 * Finds what the parser has stumbled over: it says only where it was then (RFC 4180 §2, rules 5 to 7).
 * @param bytes from the start of the row
 * @param lenient blanks around quoted cells are ignored
 */
export function quoteFault(bytes: Buffer, lenient: boolean): QuoteFault | undefined {
  for (let at = 0; at < bytes.length; at++) {
    // At the start of a cell.
    if (lenient) while (isBlank(bytes[at])) at++
    if (bytes[at] === quote) {
      const from = at
      const to = endOfQuoted(bytes, from)
      if (to < 0) return { kind: 'open', from }
      at = to + 1
      if (lenient) while (isBlank(bytes[at])) at++
      if (at < bytes.length && !endsCell(bytes[at])) return { kind: 'closed early', from, to }
    } else
      for (; at < bytes.length && !endsCell(bytes[at]); at++)
        if (bytes[at] === quote) return { kind: 'inside', from: at }
  }
  return undefined
}

/**
 * Finds a row that the parser would make too many cells of.
 * @param bytes whole rows from the start of one; the last may be unfinished
 * @returns the offset of the first row with more cells than that
 */
export function rowWithMoreThan(maxCells: number, bytes: Buffer): number | undefined {
  let from = 0
  let cells = 1
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) {
      at = bytes.indexOf(quote, at + 1)
      if (at < 0) return undefined
    } else if (byte === comma) {
      if (++cells > maxCells) return from
    } else if (byte === lineFeed || byte === carriageReturn) {
      from = at + 1
      cells = 1
    }
  }
  return undefined
}

/** @returns the offset of the closing double quote; -1 if there is none */
function endOfQuoted(bytes: Buffer, from: number): number {
  for (let at = from + 1; ; at += 2) {
    at = bytes.indexOf(quote, at)
    // Two stand for one.
    if (at < 0 || bytes[at + 1] !== quote) return at
  }
}

const endsCell = (byte: number | undefined) => byte === comma || byte === lineFeed || byte === carriageReturn
