import type { Delimiter } from './delimiters.ts'
import type { Encoding } from './encodings.ts'

/** Options for reading a file, where its content doesn't tell. */
export interface ReadingOptions {
  /** undefined: UTF-16 if its first bytes say so, otherwise UTF-8. */
  readonly encoding?: Encoding
  /** The delimiter of the cells; undefined: it is guessed from the header and the first rows. */
  readonly delimiter?: Delimiter
  /** Numbers of a table may have decimal commas. */
  readonly decimalComma?: boolean
  /** Dates of a table may have the day first; they become YYYY-MM-DD. */
  readonly dayFirst?: boolean
}
