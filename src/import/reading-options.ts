import type { Delimiter } from './delimiters.ts'
import type { Encoding } from './encodings.ts'

/** Options for reading a file, for properties that its content doesn't show. */
export interface ReadingOptions {
  /** The encoding; undefined: UTF-16 if its first bytes say so, otherwise UTF-8. */
  readonly encoding?: Encoding
  /** The delimiter of the cells; undefined: it is guessed from the header and the first rows. */
  readonly delimiter?: Delimiter
  /** True if numbers in a table may have decimal commas. */
  readonly decimalComma?: boolean
  /** True if dates in a table may have the day first. They become YYYY-MM-DD. */
  readonly dayFirst?: boolean
}
