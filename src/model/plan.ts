import type { Entity, FieldType, Page } from './entities.ts'

/**
 * A query that has been checked: its fields exist, its values have the types of their fields, and the caller
 * may read every entity in it (docs/decisions/0034). It is plain data: it can be passed to threads, and its
 * JSON identifies it in caches.
 */
export interface Plan {
  readonly entity: Entity
  /** The condition; null: all records match. */
  readonly where: Condition | null
  readonly shape: Shape
  /** The requested page. Its `order` is for the shape `records`; rows have an order of their own. */
  readonly page: Page
}

/** Returns a plan that lists whole records, as for every list without a query. */
export const listOf = (entity: Entity, page: Page): Plan => ({
  entity,
  where: null,
  shape: wholeRecords,
  page,
})

/**
 * A two-valued condition: the check has moved every `not` to the leaves. A record matches a leaf if it
 * has a value there (not null) and the comparison is true, or false if the leaf is `negated`. Within
 * JSON, a missing or null value differs from every value (`differsIfMissing`): there, negated `=` and
 * `in` also match without a value.
 */
export type Condition =
  | ValueCondition
  | { readonly kind: 'and'; readonly of: readonly Condition[] }
  | { readonly kind: 'or'; readonly of: readonly Condition[] }
  /** No record matches. */
  | { readonly kind: 'none' }
  /** The record has no value; negated: it has one. */
  | { readonly kind: 'null'; readonly field: FieldRef; readonly negated: boolean }
  /** The value is compared with that of another field. A record without one of them doesn't match, negated or not. */
  | {
      readonly kind: 'fields'
      readonly field: FieldRef
      readonly operator: '=' | '<' | '<=' | '>' | '>='
      readonly other: FieldRef
      readonly negated: boolean
    }
  /**
   * The record's values in these fields equal a row of the inner plan, whose shape is as many plain fields.
   * A single field with `eachElement` makes a row of each element.
   * Rows that contain null match nothing. A record with null in a field that isn't within JSON doesn't
   * match either, negated or not.
   */
  | {
      readonly kind: 'in plan'
      readonly fields: readonly FieldRef[]
      readonly plan: Plan
      readonly negated: boolean
    }
  /**
   * Like `in plan`, with rows that were read before the engine runs the condition: a JSON array of
   * arrays, each with as many values as there are fields, none of them null. Instants are in UTC. The
   * check never makes this condition.
   */
  | {
      readonly kind: 'in rows'
      readonly fields: readonly FieldRef[]
      readonly rows: string
      readonly negated: boolean
    }
  /**
   * The record is one of a sample of those that match the plan's condition: the rows of the plan, which are the
   * keys of as many records as its page may have, in the order of a shuffle.
   */
  | { readonly kind: 'sample'; readonly plan: Plan; readonly size: number; readonly seed: number }
  /** The fields contain the words of the text (`match`). */
  | {
      readonly kind: 'text'
      readonly fields: readonly FieldRef[]
      readonly words: TextQuery
      readonly negated: boolean
    }

/** A condition on the value of one field, which an operator of its own knows (docs/decisions/0088). */
export type ValueCondition =
  | {
      readonly kind: 'compare'
      readonly field: FieldRef
      readonly operator: '=' | '<' | '<=' | '>' | '>='
      readonly value: Constant
      readonly negated: boolean
    }
  /** The value is one of these, which are sorted, distinct and not empty. */
  | {
      readonly kind: 'in'
      readonly field: FieldRef
      readonly values: readonly Constant[]
      readonly negated: boolean
    }
  /**
   * The text matches an expression of RE2's syntax, unanchored (docs/decisions/0036). Within JSON, numbers,
   * booleans and structures have a text, too.
   */
  | {
      readonly kind: 'matches'
      readonly field: FieldRef
      readonly expression: string
      readonly negated: boolean
    }
  /** The value is an array whose elements match these patterns, one by one (`~>`). */
  | {
      readonly kind: 'path matches'
      readonly field: FieldRef
      readonly elements: readonly PathElement[]
      readonly negated: boolean
    }

export type Leaf<K extends Condition['kind']> = Extract<Condition, { readonly kind: K }>

/**
 * A pattern for one element of a path: a whole number, or an anchored expression for a text. With `indexes`,
 * the expression may also match the digits of a number.
 */
export type PathElement = number | { readonly expression: string; readonly indexes: boolean }

/**
 * The phrases that `match` looks for; all of them must occur. A phrase is a sequence of words, and its
 * last word may be a prefix.
 */
export type TextQuery = readonly { readonly words: readonly string[]; readonly prefix: boolean }[]

/** A field, a member inside one that is JSON, or what is computed of such a value. */
export interface FieldRef {
  readonly name: string
  /**
   * The path from the value to the member: keys of objects, indexes of arrays, and `eachElement`; empty: the
   * value itself.
   */
  readonly path: readonly (string | number)[]
  /** The type of the field; `json` for a member; of a computed value its own. */
  readonly type: FieldType
  /** True if the field itself is a list, or if the path has `eachElement`: conditions look at the elements. */
  readonly list?: true
  /** A function of the value; absent: the value itself. */
  readonly computed?: Computed
  /**
   * The record of another entity in which the value is read. The name is then the one that the query wrote, and
   * the path is empty, because the value is a member there already.
   */
  readonly related?: Related
}

/** The record of another entity that has the values of these fields: one at most (docs/decisions/0078). */
export interface Related {
  readonly fields: readonly FieldRef[]
  /**
   * Lists the other entity, with as many columns as there are fields, and then the value; or its rows, which
   * were read before the engine runs the plan, as in `in rows`, with their SHA-256. The check never makes rows.
   */
  readonly of: Plan | { readonly rows: string; readonly digest: string; readonly value: FieldRef }
}

/** A step of a path to all elements of an array: the value is the list of what is found in them, without nulls. */
export const eachElement = -1

export type TimeUnit = 'year' | 'quarter' | 'month' | 'week' | 'day' | 'hour'

/** A value that is computed of another one of the same record; none of null (docs/decisions/0074). */
export type Computed =
  /** The greatest multiple of the width that is not above the number. */
  | { readonly kind: 'interval'; readonly width: string }
  /** The instant at which the year, month or other period of the instant began, in UTC. */
  | { readonly kind: 'period'; readonly unit: TimeUnit }
  /** The number of elements of an array. */
  | { readonly kind: 'length' }
  /** The result of PostgreSQL's `to_char` for an instant in UTC or a number. */
  | { readonly kind: 'to_string'; readonly mask: string }

/** True for a list of what is found in elements: as a column of a subquery, each of these is a row. */
export const isOfElements = ({ path, computed }: FieldRef): boolean =>
  computed === undefined && path.includes(eachElement)

/** True for a field itself: neither a member inside it, nor computed of it, nor of a related record. */
export const isWholeField = ({ path, computed, related }: FieldRef): boolean =>
  path.length === 0 && computed === undefined && related === undefined

/**
 * True if a missing value differs from every other value, as within JSON. Elsewhere the
 * comparison is unknown, as in SQL.
 */
export const differsIfMissing = ({ type, list, path }: FieldRef): boolean =>
  type === 'json' && (list !== true || path.length > 0)

/**
 * A value to compare with, converted to the type of the field. A JSON field is compared with constants of
 * any kind but `instant`, and a constant never matches a value of another kind, neither by `=` nor by
 * order. A list also matches `=` and `in` if one of its elements does, and matches an expression only if
 * one of its elements does.
 */
export type Constant =
  | { readonly kind: 'text'; readonly text: string }
  /** A number as JSON text, so that no digit is lost. */
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  /** An instant in UTC, such as `2026-01-01T04:19:47.5Z`, with as many digits as were given. */
  | { readonly kind: 'instant'; readonly text: string }
  /** A whole array or object as JSON, with the keys of objects sorted. */
  | { readonly kind: 'json'; readonly json: string }

type Shape = typeof wholeRecords | Rows

const wholeRecords = { kind: 'records' } as const

/** A shape that lists rows of chosen columns. */
export interface Rows {
  readonly kind: 'rows'
  /** The columns, in the order of the members. Their names are distinct. */
  readonly columns: readonly Column[]
  /** The grouping values; null: one row for each record, or a single row if there are aggregates. */
  readonly groups: readonly Scalar[] | null
  /** A condition on rows after grouping. Its fields are names of columns. */
  readonly having: Condition | null
  /** True if equal rows are listed once. */
  readonly distinct: boolean
  /**
   * True if the buckets without records between the first and the last one have a row, too. There is one group,
   * which is a bucket and the column by which rows are sorted, and no `having`.
   */
  readonly withEmpty?: true
  /**
   * The sort keys: a column by its index, or a value that isn't shown. The engine makes the order total, by
   * the key of the records, by all groups, or by all columns if rows are distinct.
   */
  readonly order: readonly { readonly by: number | Scalar; readonly descending: boolean }[]
}

export interface Column {
  readonly name: string
  readonly value: Scalar | Aggregate
  /** The type under which the column is described and compared. */
  readonly type: FieldType
}

/** A value of one record. */
export type Scalar =
  | { readonly kind: 'field'; readonly field: FieldRef }
  /** The text of a field with the words of the plan's `match` marked. */
  | { readonly kind: 'highlight'; readonly field: FieldRef; readonly words: TextQuery }
  /** A number that puts records into an order that only depends on their keys and the seed. */
  | { readonly kind: 'shuffle'; readonly fields: readonly FieldRef[]; readonly seed: number }
  /** Relevance of the record for the plan's `match`; higher is better. */
  | { readonly kind: 'relevance'; readonly fields: readonly FieldRef[]; readonly words: TextQuery }

/** A value of many records. `count` without a field counts records; all other aggregates leave nulls out. */
export interface Aggregate {
  readonly kind: 'aggregate'
  readonly name: 'count' | 'count_distinct' | 'avg' | 'sum' | 'min' | 'max' | 'percentile'
  /** The argument behind the field, such as the part of 1 of a percentile. */
  readonly argument?: string
  readonly field: FieldRef | null
}
