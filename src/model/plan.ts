import type { Entity, FieldType, Page } from './entities.ts'

/**
 * What a query asks for, checked: fields exist, values have the type of their field, and the caller may read every entity
 * in it (docs/decisions/0034). It is plain data, so that threads can be given it, and its JSON names it in caches.
 */
export interface Plan {
  readonly entity: Entity
  /** null: all records. */
  readonly where: Condition | null
  readonly shape: Shape
  /** `order` is for the shape `records`; rows have an order of their own. */
  readonly page: Page
}

/** A plan that lists whole records, as every list without a query does. */
export const listOf = (entity: Entity, page: Page): Plan => ({
  entity,
  where: null,
  shape: wholeRecords,
  page,
})

/**
 * Conditions are two-valued when they run: the check has moved every `not` to the leaves. Of a leaf, a record matches if
 * it has a value there (is not null), and the comparison is true; `negated`: false. Within JSON, what is missing or null
 * differs from every value (`differsIfMissing`): there, `=` and `in` that are negated match also without a value.
 */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly of: readonly Condition[] }
  /** No record matches. */
  | { readonly kind: 'none' }
  /** The record has no value; negated: it has one. */
  | { readonly kind: 'null'; readonly field: FieldRef; readonly negated: boolean }
  | {
      readonly kind: 'compare'
      readonly field: FieldRef
      readonly operator: '=' | '<' | '<=' | '>' | '>='
      readonly value: Constant
      readonly negated: boolean
    }
  /** The value is one of these: sorted, each once, not empty. */
  | {
      readonly kind: 'in'
      readonly field: FieldRef
      readonly values: readonly Constant[]
      readonly negated: boolean
    }
  /**
   * The values are those of one row of the inner plan, whose shape is plain fields, as many as these. Rows with a null in
   * them match nothing. A record with a null in a field that isn't within JSON matches neither, negated or not.
   */
  | {
      readonly kind: 'in plan'
      readonly fields: readonly FieldRef[]
      readonly plan: Plan
      readonly negated: boolean
    }
  /**
   * The same with rows that were read before the engine runs the condition: a JSON array of arrays, each with as many
   * values as there are fields, none of them null. Instants are in UTC. The check makes no such condition.
   */
  | {
      readonly kind: 'in rows'
      readonly fields: readonly FieldRef[]
      readonly rows: string
      readonly negated: boolean
    }
  /**
   * The text matches an expression of RE2's syntax, unanchored (docs/decisions/0036). Of JSON, numbers, booleans and
   * structures have a text, too.
   */
  | {
      readonly kind: 'matches'
      readonly field: FieldRef
      readonly expression: string
      readonly negated: boolean
    }
  /** The value is an array, and its elements match these, one by one (`~>`). */
  | {
      readonly kind: 'path matches'
      readonly field: FieldRef
      readonly elements: readonly PathElement[]
      readonly negated: boolean
    }
  /** The words of the text are in the fields (`match`). */
  | {
      readonly kind: 'text'
      readonly fields: readonly FieldRef[]
      readonly words: TextQuery
      readonly negated: boolean
    }

/**
 * A pattern for one element of a path: a whole number, or an anchored expression for a text. With `indexes`, it may also match
 * the digits of a number.
 */
export type PathElement = number | { readonly expression: string; readonly indexes: boolean }

/** What `match` looks for: every phrase must be there. A phrase is words in a row; the last one may be a prefix. */
export type TextQuery = readonly { readonly words: readonly string[]; readonly prefix: boolean }[]

/** A field, or a member inside one that is JSON. */
export interface FieldRef {
  readonly name: string
  /** The way from the value to the member: keys of objects, indexes of arrays; empty: the value itself. */
  readonly path: readonly (string | number)[]
  /** json for a member. */
  readonly type: FieldType
  /** True if the field itself is a list; never for a member. */
  readonly list?: true
}

/** True if a missing value differs from every other value, as within JSON. Elsewhere the comparison is unknown, as in SQL. */
export const differsIfMissing = ({ type, list }: FieldRef): boolean => type === 'json' && list !== true

/** True if a comparison holds for a record without a value. */
export const holdsIfMissing = (
  leaf: Extract<Condition, { kind: 'compare' | 'in' | 'matches' | 'path matches' }>,
): boolean =>
  leaf.negated &&
  differsIfMissing(leaf.field) &&
  (leaf.kind === 'in' || (leaf.kind === 'compare' && leaf.operator === '='))

/**
 * A value to compare with, converted to the type of the field. A field of JSON is compared with constants of any kind but
 * `instant`, and a constant of another kind than the value never matches, neither by `=` nor by order. A list also matches
 * `=` and `in` if one of its elements does, and an expression only then.
 */
export type Constant =
  | { readonly kind: 'text'; readonly text: string }
  /** As JSON writes it, so that no digit is lost. */
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  /** UTC, such as `2026-01-01T04:19:47.5Z`, with as many digits as were given. */
  | { readonly kind: 'instant'; readonly text: string }
  /** An array or an object as a whole: its JSON, with the keys of objects sorted. */
  | { readonly kind: 'json'; readonly json: string }

export type Shape = typeof wholeRecords | Rows

const wholeRecords = { kind: 'records' } as const

/** Rows with chosen members. */
export interface Rows {
  readonly kind: 'rows'
  /** In the order of the members. Their names differ. */
  readonly columns: readonly Column[]
  /** null: a row for each record, or with aggregates one for all of them. */
  readonly groups: readonly Scalar[] | null
  /** A condition on rows after they are grouped: its fields are the names of columns. */
  readonly having: Condition | null
  /** Whether equal rows are listed once. */
  readonly distinct: boolean
  /**
   * A column by its index, or what isn't shown. The engine makes the order total: by the key of the records, or by all
   * groups, or by all columns if rows are distinct.
   */
  readonly order: readonly { readonly by: number | Scalar; readonly descending: boolean }[]
}

export interface Column {
  readonly name: string
  readonly value: Scalar | Aggregate
  /** How the column is described and compared. */
  readonly type: FieldType
}

/** A value of one record. */
export type Scalar =
  | { readonly kind: 'field'; readonly field: FieldRef }
  /** PostgreSQL's `to_char`, of an instant in UTC or of a number. */
  | { readonly kind: 'to_string'; readonly field: FieldRef; readonly mask: string }
  /** The text of a field with the words of the plan's `match` marked. */
  | { readonly kind: 'highlight'; readonly field: FieldRef; readonly words: TextQuery }
  /** How well the record matches the plan's `match`: the higher, the better. */
  | { readonly kind: 'relevance'; readonly fields: readonly FieldRef[]; readonly words: TextQuery }

/** A value of many records. `count` without a field counts records; all others leave nulls out. */
export interface Aggregate {
  readonly kind: 'aggregate'
  readonly name: 'count' | 'count_distinct' | 'avg' | 'sum' | 'min' | 'max'
  readonly field: FieldRef | null
}
