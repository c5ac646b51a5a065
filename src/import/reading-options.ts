import type { Delimiter } from './delimiters.ts'
import type { Encoding } from './encodings.ts'

/** How a file is to be read, where that can't be seen in it. */
export interface ReadingOptions {
  /** undefined: UTF-16 if its first bytes say so, otherwise UTF-8. */
  readonly encoding?: Encoding
  /** What is between the cells of a table; undefined: as its header and its first rows look. */
  readonly delimiter?: Delimiter
  /** Numbers of a table may have decimal commas. */
  readonly decimalComma?: boolean
  /** Dates of a table may have the day first; they become YYYY-MM-DD. */
  readonly dayFirst?: boolean
}
