import type { Quoting } from '../model/recipes.ts'
import { type Delimiter, nameOf } from './delimiters.ts'
import { ImportError } from './import-error.ts'
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

export const lineFeed = 0x0a
export const carriageReturn = 0x0d

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

/** The delimiter and the quotes that divide rows into cells. */
type HowCut = Pick<Reading, 'delimiter' | 'quote'>

/** Delimiters of files that often know no quoting. */
const seldomQuoted: readonly Delimiter[] = ['\t', '|']

/** Returns an error for quotes, with the option that takes them as text where that is likely. */
export const quotingFault = (line: number, fault: string, delimiter: Delimiter): ImportError =>
  seldomQuoted.includes(delimiter)
    ? new ImportError(`${fault}; if quotes are text in this file, --quote none reads it`, {
        line,
        repair: { quote: 'none' },
      })
    : new ImportError(fault, { line })

/** Returns the error for a quoted cell that begins on `line` and ends on `end`, where text follows. */
export const closedEarly = (line: number, end: number, delimiter: Delimiter): ImportError =>
  quotingFault(
    line,
    end === line
      ? `text after the closing double quote of a cell; double the quotes that belong to the text`
      : `the quoted value that begins here ends on line ${end}, where text follows its double quote; is a closing double quote missing before? Double the quotes that belong to the text`,
    delimiter,
  )

/**
 * True if a row that is too short has as many cells as the header if quotes are text, in a table that often knows
 * no quoting.
 * @param split number of cells that the row has if quotes are text; undefined: it has none
 */
export const mayBeText = (
  { delimiter, quote }: HowCut,
  columns: number,
  split: number | undefined,
): boolean => quote === undefined && seldomQuoted.includes(delimiter) && split === columns

/** Returns the error for a row that isn't as long as the header. @param split as of `mayBeText` */
export function unevenRow(
  { line, cells }: { readonly line: number; readonly cells: readonly string[] },
  columns: number,
  { delimiter, quote }: HowCut,
  split?: number,
): ImportError {
  const name = nameOf(delimiter)
  const differ = `the row and the header differ in length: ${cells.length} and ${columns} cells`
  if (mayBeText({ delimiter, quote }, columns, split))
    return new ImportError(
      `${differ}; a cell in double quotes has a ${name}, and if quotes are text in this file, --quote none reads it`,
      { line, repair: { quote: 'none' } },
    )
  if (cells.length < columns && split !== undefined && split > cells.length)
    return new ImportError(
      `${differ}; cells are missing at the end of the row, or a cell in double quotes ends too late: write them, or correct the quotes`,
      { line },
    )
  if (cells.length < columns)
    return new ImportError(
      `${differ}; cells are missing at the end of the row: write them, or take them as empty with --short-rows`,
      { line, repair: { shortRows: true } },
    )
  const quoted =
    quote === 'none'
      ? `quotes are text here; where cells in double quotes have a ${name}, --quote double reads them`
      : `write a cell that has a ${name} in double quotes`
  if (cells.length === columns + 1 && cells.at(-1) === '')
    return new ImportError(
      `${differ}; the row ends in a ${name} and the header doesn't: remove it, or give the last column a name`,
      { line },
    )
  return new ImportError(
    cells.length === columns + 1
      ? `${differ}; ${quoted}; if each row begins with its number, as R writes them, give that column a name or leave it out (row.names = FALSE)`
      : `${differ}; ${quoted}`,
    { line },
  )
}
