import type { FieldType } from '../../model/entities.ts'
import type { Scalar } from '../../model/plan.ts'

/** A value in a statement: SQL, and what it needs to be compared, sorted and shown. */
export interface Cell {
  /**
   * `number`: a text, as JSON writes it; `numeric`: of PostgreSQL's type. `time`: a text of the built-in
   * tables' form; `instant`: of PostgreSQL's type. `json`: JSON as text.
   */
  readonly kind: 'text' | 'integer' | 'number' | 'numeric' | 'boolean' | 'instant' | 'time' | 'json'
  readonly sql: string
  readonly nullable: boolean
  /** The value in the form of an index, by which a few different values may be equal. */
  readonly indexed?: string
  /** The SQL that lists sort by, if it isn't the value itself. */
  readonly sort?: string
  /** True for JSON that is sorted by its text, like a whole field, and not by kind and value. */
  readonly sortsByText?: boolean
}

/** A value as an enclosing select reads it, without the SQL that it was sorted and looked up by. */
export const outside = ({ sort: _, indexed: __, ...cell }: Cell, sql: string): Cell => ({
  ...cell,
  sql,
  nullable: true,
})

/** A whole field as a value of a record. */
export const fieldNamed = (name: string, type: FieldType): Scalar => ({
  kind: 'field',
  field: { name, path: [], type },
})

/** Binds a value to a statement. @returns the placeholder */
export type Bind<V> = (value: V) => string

/** Values of a statement in the order of their placeholders. */
export interface Binder<V> {
  readonly bind: Bind<V>
  readonly values: readonly V[]
}

/** @param mark before the number of a placeholder */
export function createBinder<V>(mark: '?' | '$'): Binder<V> {
  const values: V[] = []
  return {
    bind: value => {
      values.push(value)
      return `${mark}${values.length}`
    },
    values,
  }
}

/** Joins terms into a balanced tree: SQLite allows 1,000 levels (https://sqlite.org/limits.html). */
export function joinBalanced(terms: readonly string[], operator: 'AND' | 'OR' | '||'): string {
  if (terms.length <= 2) return terms.join(` ${operator} `)
  const half = Math.ceil(terms.length / 2)
  const halves = [terms.slice(0, half), terms.slice(half)]
  return halves
    .map(part => (part.length === 1 ? part[0] : `(${joinBalanced(part, operator)})`))
    .join(` ${operator} `)
}

/** Keys as columns of a select. */
export const namedKeys = (keys: readonly string[]): string =>
  keys.map((key, at) => `${key} AS k${at}`).join(', ')

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
