/** `double`: cells may be in double quotes. `none`: quotes are text. */
export const quotings = ['double', 'none'] as const
export type Quoting = (typeof quotings)[number]

/** Options for reading a whole table. */
export interface FileReading {
  /** Absent: double quotes, unless the rows of a table with tabs look as if quotes were text. */
  readonly quote?: Quoting
  /** True if cells that are missing at the end of a row are empty. */
  readonly shortRows?: boolean
  /** True if every column of numbers such as `1.234,5` is read as numbers. */
  readonly decimalComma?: boolean
  /** True if every column of numbers such as `1,234.5` is read as numbers. */
  readonly decimalPoint?: boolean
  /** True if every column of dates such as `31.12.2024` is read as dates such as `2024-12-31`. */
  readonly dayFirst?: boolean
}

/**
 * A recipe says how a file is read (docs/decisions/0075). It is kept with the entity whose records were imported
 * by it, and used again at the next import.
 */
export interface Recipe extends FileReading {
  /** A word for the delimiter of a table; absent: its header and first rows tell. */
  readonly delimiter?: string
  /** Absent: UTF-8, or UTF-16 if the first bytes say so. */
  readonly encoding?: string
  /** Texts that mean empty in every field. */
  readonly empty?: readonly string[]
  /** The fields that identify a record, by their names in the entity. */
  readonly key?: readonly string[]
  /** Fields by their names in the file. Those that it doesn't name are read as they look. */
  readonly fields?: Readonly<Record<string, FieldRecipe>>
}

export interface FieldRecipe {
  /** Absent: the values decide. */
  readonly read?: Way
  /** The text between the elements of a list. */
  readonly separator?: string
  readonly collation?: string
  /** Further texts that mean empty. */
  readonly empty?: readonly string[]
  /** The name in the entity; absent: the name in the file. */
  readonly rename?: string
  readonly leaveOut?: boolean
}

/** The ways in which the values of a field can be read: as a type, or as texts that are converted to one. */
export const ways = [
  ...(['text', 'integer', 'number', 'boolean', 'date-time', 'json'] as const),
  ...(['decimal-comma', 'decimal-point', 'day-first', 'list'] as const),
] as const

export type Way = (typeof ways)[number]

/** The types of the values to which texts are converted. */
const numbers = { 'decimal-comma': 'number', 'decimal-point': 'number' } as const
const converted = { ...numbers, 'day-first': 'text', list: 'json' } as const

type Converted = keyof typeof converted
type PlainWay = Exclude<Way, Converted>

/** The type of a field whose values are read in this way. @returns undefined if the values decide */
export function typeOfWay(way: Way | undefined): PlainWay | undefined {
  return way !== undefined && Object.hasOwn(converted, way) ? converted[way as Converted] : (way as PlainWay)
}
