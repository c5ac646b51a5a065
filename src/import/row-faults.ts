import { type Delimiter, nameOf } from './delimiters.ts'
import { ImportError } from './import-error.ts'

/** A row of a table, with the number of its first line. */
export interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/** Returns the error for a quoted cell that begins on `line` and ends on `end`, where text follows. */
export const closedEarly = (line: number, end: number): ImportError =>
  new ImportError(
    end === line
      ? `line ${line}: text after the closing double quote of a cell; double the quotes that belong to the text`
      : `line ${line}: the quoted value that begins here ends on line ${end}, where text follows its double quote; is a closing double quote missing before? Double the quotes that belong to the text`,
  )

export function unevenRow({ line, cells }: Row, columns: number, delimiter: Delimiter): ImportError {
  const name = nameOf(delimiter)
  const advice =
    cells.length !== columns + 1
      ? `write a cell that has a ${name} in double quotes`
      : cells.at(-1) === ''
        ? `the row ends in a ${name} and the header doesn't: remove it, or give the last column a name`
        : `write a cell that has a ${name} in double quotes; if each row begins with its number, as R writes them, give that column a name or leave it out (row.names = FALSE)`
  return new ImportError(
    `line ${line}: the row and the header differ in length: ${cells.length} and ${columns} cells; ${advice}`,
  )
}
