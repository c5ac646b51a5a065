import type { Quoting } from '../model/recipes.ts'
import type { Delimiter } from './delimiters.ts'
import type { ImportError } from './import-error.ts'
import { maxLineBytes } from './utf8.ts'

/** The rows of a table, and the text that they are cut from (csv-rows.ts). */

export interface Reading {
  readonly delimiter: Delimiter
  /** Undefined: double quotes. */
  readonly quote?: Quoting | undefined
  /** True if rows may have more or fewer cells than the first, and blanks around quoted cells are ignored. */
  readonly lenient?: boolean
  /** True if the user can't name another encoding, and has to convert the file. */
  readonly isUtf8?: boolean
  /** Called for each row whose length differs from that of the first. Such rows are left out. */
  readonly refuse?: (error: ImportError) => void
  /** Called for each row that lacks cells at its end, which is then taken as it is; undefined: it is refused. */
  readonly short?: (line: number, missing: number) => void
  /**
   * Called for each row with a quoted cell that holds a delimiter and a line break.
   * @param isEven true if each of its lines would be a row if quotes were text
   */
  readonly enclosed?: (line: number, isEven: boolean) => unknown
  /**
   * Called where quotes can't be text: for a quoted name in a header of one line, for two double quotes that stand
   * for one, and for a complete row whose lines would be no rows if quotes were text.
   */
  readonly proven?: () => void
}

/** A row of a table, with the number of its first line. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/**
 * True if a row is too long. A character takes at most three bytes of UTF-8, so most
 * texts need not be measured.
 */
export const isLong = (text: string) =>
  text.length > maxLineBytes / 3 && (text.length > maxLineBytes || Buffer.byteLength(text) > maxLineBytes)

const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Counts line breaks. LF, CRLF and CR are one each. */
export function lineBreaksIn(text: string, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    // A CRLF is counted at its LF.
    if (code === lineFeed || (code === carriageReturn && text.charCodeAt(at + 1) !== lineFeed)) count++
  }
  return count
}
