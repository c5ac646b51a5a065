import type { Quoting } from '../model/recipes.ts'
import { type Delimiter, nameOf } from './delimiters.ts'
import { ImportError } from './import-error.ts'

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

interface Reading {
  readonly delimiter: Delimiter
  readonly quote?: Quoting | undefined
}

/**
 * True if a row that is too short has as many cells as the header if quotes are text, in a table that often knows
 * no quoting.
 * @param split number of cells that the row has if quotes are text; undefined: it has none
 */
export const mayBeText = (
  { delimiter, quote }: Reading,
  columns: number,
  split: number | undefined,
): boolean => quote === undefined && seldomQuoted.includes(delimiter) && split === columns

/** Returns the error for a row that isn't as long as the header. @param split as of `mayBeText` */
export function unevenRow(
  { line, cells }: { readonly line: number; readonly cells: readonly string[] },
  columns: number,
  { delimiter, quote }: Reading,
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
