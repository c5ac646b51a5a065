import type { FieldType } from '../../model/entities.ts'
import type { Aggregate, FieldRef, Scalar } from '../../model/plan.ts'

/** A value in a statement: SQL, and what it needs to be compared, sorted and shown. */
export interface Cell {
  /**
   * `number`: a text, as JSON writes it; `numeric`: of PostgreSQL's type. `time`: a text of the built-in tables' form;
   * `instant`: of PostgreSQL's type. `json`: JSON as text.
   */
  readonly kind: 'text' | 'integer' | 'number' | 'numeric' | 'boolean' | 'instant' | 'time' | 'json'
  readonly sql: string
  readonly nullable: boolean
  /** The same in the form of an index, which may take a few more values for equal. */
  readonly indexed?: string
  /** What a list sorts the field by, if that isn't the value itself. */
  readonly sort?: string
  /** Of JSON: whether it is sorted by its text, like a whole field, or by kind and value. */
  readonly sortsByText?: boolean
}

/** How an engine writes values in SQL. */
export interface Dialect {
  bind(value: string | number): string
  /** The same for a text in a place that doesn't say its type. */
  bindText(text: string): string
  scalar(scalar: Scalar): Cell
  /** Over the records of a group. */
  aggregate(aggregate: Aggregate): Cell
  /** Equal values have the same key, and no others. */
  key(cell: Cell): string
  /** One value for a group of equal ones: always the same. */
  representative(cell: Cell): string
  /** As JSON. */
  json(cell: Cell): string
  /** Terms of an order, nulls last ascending and first descending (Q6). */
  sort(cell: Cell, descending: boolean): string
}

/** A whole field as a value of a record. */
export const fieldNamed = (name: string, type: FieldType): Scalar => ({
  kind: 'field',
  field: { name, path: [], type },
})

/** Values of a statement in the order of their placeholders. */
export interface Binder<T> {
  /** @returns the placeholder */
  bind(value: T): string
  readonly values: readonly T[]
}

/** @param mark before the number of a placeholder */
export function createBinder<T>(mark: '?' | '$'): Binder<T> {
  const values: T[] = []
  return {
    bind: value => {
      values.push(value)
      return `${mark}${values.length}`
    },
    values,
  }
}

/** Joins terms to a tree that is as flat as can be: SQLite allows 1,000 levels (https://sqlite.org/limits.html). */
export function joinBalanced(terms: readonly string[], operator: 'AND' | 'OR' | '||'): string {
  if (terms.length <= 2) return terms.join(` ${operator} `)
  const half = Math.ceil(terms.length / 2)
  const halves = [terms.slice(0, half), terms.slice(half)]
  return halves
    .map(part => (part.length === 1 ? part[0] : `(${joinBalanced(part, operator)})`))
    .join(` ${operator} `)
}

export const isWhole = ({ path }: FieldRef): boolean => path.length === 0
