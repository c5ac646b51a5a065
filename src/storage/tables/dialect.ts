import type { Field, FieldType } from '../../model/entities.ts'
import type { Aggregate, Computed, FieldRef, TextQuery, ValueCondition } from '../../model/plan.ts'
import type { Bound, Comparison } from './bounds.ts'
import type { Cell } from './cells.ts'
import type { VisibleRows, Way } from './row-visibility.ts'

/** A table that a statement reads. */
export interface ReadTable {
  /** The quoted name of the table, or of the view of its visible rows. */
  readonly name: string
  readonly rows: VisibleRows
  /** True for one of the operator's tables, false for one of Carrel's. */
  readonly isExposed: boolean
  /** Fields whose values are compared as text by code point, whatever the column's type (Q6). */
  readonly asText: readonly string[]
}

/** The part of a table that a select reads. */
export interface Reading {
  readonly table: ReadTable
  readonly way: Way
  /** False if all visible rows are listed as they are. */
  readonly isFiltered: boolean
  /** The quoted column that tells rows apart. */
  readonly key: string
  /** Number of first rows that are needed. null: all; undefined: unknown, in a select inside another. */
  readonly first: number | null | undefined
}

/** The rows of a table that a select reads. */
export interface Source {
  /** @returns the name of a value that is computed once for each row, or the value itself */
  once(sql: string): string
  /** A condition that holds for every row, on the column with which the indexes of visible rows begin. */
  readonly own?: string
  /**
   * `FROM … WHERE …`. To be called last, because it computes the values of `once`.
   * @param filter a condition; '' for none
   * @param order of the page; '' if it doesn't matter
   */
  from(filter: string, order: string): string
}

/** A column of a list of whole records. */
export interface ShownColumn {
  readonly name: string
  readonly type: FieldType
  /** The column as it is shown (Q19). */
  readonly sql: string
}

/** A select of the rows of an inner plan, and its values in them. */
export interface Inner {
  readonly sql: string
  readonly cells: readonly Cell[]
}

/** Replaces a column of the table `items` for all but administrators (Q19). */
export type Mask =
  | { readonly kind: 'null' }
  | { readonly kind: 'empty list' }
  /** Metadata without these fields, whose characters need no quoting in SQL or in a JSON path. */
  | { readonly kind: 'without'; readonly fields: readonly string[] }

/** A value in a statement that is searched for words; NULL: there is none. */
export interface SearchedValue {
  /** Text, or JSON in the form that conditions read. */
  readonly sql: string
  readonly isJson: boolean
}

/** One side of a comparison with rows. */
export interface Outer {
  readonly field: FieldRef
  readonly cell: Cell
  /** The value in the form that conditions read. */
  readonly value: string
  /** True if either side is JSON, so that both are compared as JSON. */
  readonly isJson: boolean
}

/**
 * Everything in which SQLite and PostgreSQL differ in statements on tables. A dialect is made for one
 * statement, whose values it binds.
 */
export interface Dialect {
  // Selects
  read(reading: Reading): Source
  /** Selects one column: whole records as JSON. @param rows `FROM … WHERE … ORDER BY … LIMIT … OFFSET …` */
  recordPage(columns: readonly ShownColumn[], rows: string, table: ReadTable): string
  /** `LIMIT … OFFSET …` @param limit null: none */
  window(limit: number | null, offset: number): string
  bindNumber(value: number): string
  /** Binds a text in a place that doesn't tell its type. */
  bindText(text: string): string

  // Values
  /** @param sql of the column as it is shown */
  column(field: Field, sql: string, table: ReadTable): Omit<Cell, 'nullable'>
  masked(column: string, mask: Mask): string
  /** The text of a member of JSON; NULL also for JSON's null. */
  member(json: string, path: FieldRef['path'], once: Source['once']): string
  /** A text that is compared by code point. */
  byCodePoint(text: string): string
  /** Equal values have the same key, and no others. */
  keyOfJson(json: string): string
  keyOfNumber(number: string): string
  /** Terms that sort the value: nulls last if all are ascending, first if all are descending (Q6). */
  sortTerms(cell: Cell): readonly string[]
  /** The value as JSON. */
  json(cell: Cell, table: ReadTable): string
  computed(cell: Cell, computed: Computed): Cell
  /** A value that depends on these and the seed in no order that can be seen. */
  shuffle(cells: readonly Cell[], seed: number): Cell
  /** The relevance, a whole number. */
  relevance(cells: readonly Cell[], words: TextQuery): string
  /** An aggregate of those values that are numbers. */
  ofNumbers(name: Aggregate['name'], cell: Cell, argument: string): Cell

  // Conditions
  /** False if no text of a column contains NUL. */
  readonly hasNul: boolean
  /** The bound for a column of numbers. */
  numberBound(comparison: Comparison, number: string): Bound
  /** A constant that a column of the kind can hold, to be compared with it. */
  constant(kind: Cell['kind'], value: string): string
  /** The operator and the operand of a comparison with several constants. */
  oneOf(kind: Cell['kind'], values: readonly string[], negated: boolean): string
  /**
   * A term that has to stand before a comparison so that an index is used.
   * @param equal `= …` if the value is to be equal to a constant, or to one of several
   */
  indexTerm(cell: Cell, equal: string | undefined): string | undefined
  /** The condition that a text matches an expression. */
  matches(text: string, expression: string, negated: boolean): string
  /** JSON in the form that conditions read: with SQLite its text, with PostgreSQL `jsonb`. */
  parsed(json: string, once: Source['once']): string
  /** A member of parsed JSON; NULL also for JSON's null. */
  memberOf(parsed: string, path: FieldRef['path']): string
  /** The condition of a leaf on JSON. */
  testJson(leaf: ValueCondition, parsed: string): string
  /** The condition that words are in the values; never NULL. */
  finds(values: readonly SearchedValue[], words: TextQuery): string
  /** Rows of `in rows` as an inner plan; NULL in place of a value that no value of the field equals. */
  given(rows: string, kinds: readonly Cell['kind'][]): Inner
  /** True if comparable values of the kind are looked up in the index of their column. */
  looksUp(kind: Cell['kind']): boolean
  /**
   * The first row of each key, as a select whose rows are found by the key however many there are.
   * @param keys SQL of the values `k0`, `k1`, … @param value SQL of the value `v`
   */
  firstOf(keys: readonly string[], value: string, from: string): string
  /** The value of an inner plan in the form in which both sides are compared. */
  comparable(cell: Cell, isJson: boolean): string
  /** One side of a comparison of two values of a row. @param value of the cell, as conditions read it */
  side(cell: Cell, value: string, how: 'json' | 'number' | 'plain'): string
  /** The condition that JSON is among the values of a select of one column, as `comparable` makes them. */
  jsonAmong(outer: Outer, select: string, negated: boolean): string
  /** The condition that values are those of an inner row. */
  among(outer: readonly Outer[], inner: InnerRows, negated: boolean): string
}

/** Rows of an inner plan, for a comparison. */
export interface InnerRows {
  /** `(SELECT …) AS i` */
  readonly from: string
  /** Its values, as `comparable` makes them. */
  readonly values: readonly string[]
  /** A condition for each value: it is not null. */
  readonly complete: readonly string[]
}
