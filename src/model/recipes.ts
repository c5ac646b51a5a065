/**
 * A recipe says how a file is read (docs/decisions/0075). It is kept with the entity whose records were imported
 * by it, and used again at the next import.
 */
export interface Recipe {
  /** A word for the delimiter of a table; absent: its header and first rows tell. */
  readonly delimiter?: string
  /** Absent: UTF-8, or UTF-16 if the first bytes say so. */
  readonly encoding?: string
  /** True if every column of numbers such as `1.234,5` is read as numbers. */
  readonly decimalComma?: boolean
  /** True if every column of dates such as `31.12.2024` is read as dates such as `2024-12-31`. */
  readonly dayFirst?: boolean
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
  ...(['decimal-comma', 'day-first', 'list'] as const),
] as const

export type Way = (typeof ways)[number]

/** The types of the values to which texts are converted. */
const converted = { 'decimal-comma': 'number', 'day-first': 'text', list: 'json' } as const

type Converted = keyof typeof converted

/** The type of a field whose values are read in this way. @returns undefined if the values decide */
export function typeOfWay(way: Way | undefined): Exclude<Way, Converted> | undefined {
  return way === 'decimal-comma' || way === 'day-first' || way === 'list' ? converted[way] : way
}
