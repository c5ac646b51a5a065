/**
 * A table of the store, as data. The schema of both engines is printed from it, statements take columns and rows from it, and
 * backups and copies what becomes of its rows (docs/decisions/0087).
 */
export interface Table<C extends Columns = Columns> {
  readonly name: string
  readonly columns: C
  /** Further columns whose values are unique together. */
  readonly unique?: readonly (readonly string[])[]
  /** True if SQLite keeps the rows in the order of the key (https://sqlite.org/withoutrowid.html). */
  readonly withoutRowid?: true
  /** The part of `CREATE INDEX` after `ON table`, by the names of the indexes. */
  readonly indexes?: Readonly<Record<string, string>>
  /** True if a new store has rows of it, which those of a copy replace. */
  readonly startsFilled?: true
  /** The row that a new store has. */
  readonly first?: Readonly<Record<string, string | number>>
  /**
   * `rows`: a copy on another engine has them, and so does a restored backup. `left`: neither has any, for this reason. `apart`:
   * code of the copy or the restore speaks of the table, for this reason.
   */
  readonly backup: 'rows' | { readonly left: string } | { readonly apart: string }
}

type Columns = Readonly<Record<string, Column>>

interface Column {
  readonly type: keyof Values
  /** True for the columns that identify a row. */
  readonly isKey?: true
  readonly nullable?: true
  readonly unique?: true
  readonly default?: number
  /** The table referred to, with its ON DELETE, if any. */
  readonly references?: string
  /** True for ids that the store gives, none of them twice. */
  readonly isNumbered?: true
  /** True if triggers fill it in as rows arrive, in a copy, too. */
  readonly isCounted?: true
  /** The only value, in a table of one row. */
  readonly only?: number
}

interface Values {
  readonly TEXT: string
  readonly INTEGER: number
  readonly REAL: number
  readonly BLOB: Uint8Array
}

/** Types of columns. None is null, unless it says so. */
export const text = { type: 'TEXT' } as const
export const integer = { type: 'INTEGER' } as const
export const real = { type: 'REAL' } as const
export const blob = { type: 'BLOB' } as const
/** A column by which a row is found, alone or with others. */
export const key = <C extends Column>(column: C) => ({ ...column, isKey: true }) as const
export const numbered = { ...integer, isKey: true, isNumbered: true } as const
/** The key of a table with one row. */
export const onlyRow = { ...integer, isKey: true, only: 1 } as const
/** A number that triggers keep. */
export const counted = { ...integer, default: 0, isCounted: true } as const
export const nullable = <C extends Column>(column: C) => ({ ...column, nullable: true }) as const
export const unique = <C extends Column>(column: C) => ({ ...column, unique: true }) as const
export const withDefault = <C extends Column>(column: C, value: number) => ({ ...column, default: value })
export const references = <C extends Column>(column: C, table: string) => ({ ...column, references: table })
/** Refers to a row that it goes with. */
export const ownedBy = <C extends Column>(column: C, table: string) =>
  references(column, `${table} ON DELETE CASCADE`)

export const table = <C extends Columns>(
  name: string,
  rest: Omit<Table<Columns>, 'name'> & { columns: C },
): Table<C> => ({ name, ...rest })

/** A row as it is read. */
export type RowOf<T extends Table> = { readonly [K in keyof T['columns']]: ValueOf<T['columns'][K]> }
type ValueOf<C extends Column> = Values[C['type']] | (C extends { nullable: true } ? null : never)

/** A row as it is added: what is null, has a default or is given by the store can be left out. */
export type NewRow<T extends Table> = Omit<RowOf<T>, Optional<T['columns']>> &
  Partial<Pick<RowOf<T>, Optional<T['columns']>>>
type Optional<C extends Columns> = {
  [K in keyof C]: C[K] extends { nullable: true } | { default: number } | { isNumbered: true } ? K : never
}[keyof C]

/** The names of the columns, except for some. In SQL they need no `join`. */
export const columnsOf = ({ columns }: Table, ...without: readonly string[]): readonly string[] =>
  Object.keys(columns).filter(name => !without.includes(name))

/** The columns that identify a row. */
export const keyOf = ({ columns }: Table): readonly string[] =>
  Object.keys(columns).filter(name => columns[name]?.isKey)
