import type { Recipe } from './recipes.ts'

/** Entities, and pages of their records (contract section 9). */

export type FieldType = 'integer' | 'number' | 'boolean' | 'date-time' | 'text' | 'json'

export interface Field {
  readonly name: string
  readonly type: FieldType
  readonly nullable: boolean
  /** Present only as false, if the values have no order. */
  readonly sortable?: false
  /** The collation that text is sorted by, as a BCP 47 tag; without one, by code point (Q17). */
  readonly collation?: string
  /**
   * Present, and true, only if the field's JSON values are lists: each an array of texts, or the column of an
   * exposed table is an array.
   */
  readonly list?: true
}

/** `fieldFormats` says which types may have each. */
export type FieldFormat = 'link' | 'image' | 'e-mail' | 'year' | 'identifier' | 'paragraphs' | 'json'

/** A value that can be declared: a default, or one of a list. */
export type PlainValue = string | number | boolean

/** Members are present only if they are declared. */
export interface FieldDeclaration {
  /** The name that people read. */
  readonly label?: string
  /** A description of the field for people. */
  readonly help?: string
  /** The unit of numbers, such as `mm`. */
  readonly unit?: string
  readonly format?: FieldFormat
  /** Present, and true, only if every record needs a value. */
  readonly required?: true
  /** The value of a record that comes without one. */
  readonly default?: PlainValue
  /** Present, and true, only if no two records may have the same value. */
  readonly unique?: true
  /** The only values that records may have. */
  readonly oneOf?: readonly PlainValue[]
  /** The entity that has a record with the value as its key. */
  readonly references?: string
}

/** The declaration of a field by its name. The entity may lack the field at the moment. */
export interface DeclaredField extends FieldDeclaration {
  readonly name: string
}

export interface Entity {
  readonly name: string
  /** The field or fields that identify a record. They break the ties of every order (Q6). */
  readonly key: string | readonly string[]
  readonly fields: readonly Field[]
  readonly read: ReadRule
  readonly source: Source
  /** Declared relations to other entities (docs/decisions/0037). They hold in both directions. */
  readonly relations?: readonly Relation[]
  /** A condition as an AST. It is added to every query that doesn't mention its fields (Q25). */
  readonly defaultCondition?: string
  /** The rule for writing single records (docs/decisions/0041); without it, they can't be written. */
  readonly write?: WriteRule
  /** A description for people. */
  readonly description?: string
  /** The recipe by which its records were imported, for the next import (docs/decisions/0075). */
  readonly recipe?: Recipe
  /** Declarations of fields, by name (docs/decisions/0076). `describedFields` adds them to the fields. */
  readonly declaredFields?: readonly DeclaredField[]
}

/** A relation to another entity. Records are related if their values in these fields are equal. */
export interface Relation {
  readonly fields: readonly string[]
  readonly to: { readonly entity: string; readonly fields: readonly string[] }
}

/** The place where the records are stored. Features treat it as opaque. */
type Source =
  | TableSource
  | {
      readonly kind: 'records'
      readonly version: string
      readonly count: number
      readonly bytes: number
      readonly largest: number
      /**
       * Number of slots that the records occupy, present only in a version made by changing some records of
       * another. Some of these slots are unused. Without it, the number of a record is its slot.
       */
      readonly slots?: number
      /**
       * The first of a line of versions, each of which has the records of the one before with its changes up to number
       * `folded` (docs/decisions/0082). A version without these is the first of a line.
       */
      readonly root?: string
      readonly folded?: number
      /** Time of the last change of its records, in RFC 3339. Versions made by older releases lack it. */
      readonly imported?: string
    }
  | {
      readonly kind: 'exposed'
      readonly schema: string
      readonly table: string
      /** Fields whose values are compared as text, by code point (Q6), regardless of the column's type. */
      readonly asText: readonly string[]
    }

export interface TableSource {
  readonly kind: 'table'
  readonly table: string
  readonly rows: RowRule
}

/**
 * The rows of a table that non-administrators see: all, those whose audience admits them,
 * or those about themselves.
 */
export type RowRule = 'all' | 'audience' | 'own'

/** `eperson` is any eperson, and `eperson:<uuid>` is a single one. */
export type ReadRule = 'anonymous' | 'eperson' | 'admin' | `eperson:${string}` | `group:${string}`

/** The rule for writing single records of an imported entity. Writing always requires a login. */
export type WriteRule = Exclude<ReadRule, 'anonymous'>

/** The read rule of a new entity for which none is given. */
export const newEntityRule: ReadRule = 'admin'

export interface Order {
  readonly field: string
  readonly descending: boolean
}

/** A validated list request. */
export interface Page {
  readonly order: readonly Order[]
  readonly offset: number
  readonly limit: number | null
  /** True if the total was requested. */
  readonly total: boolean
}

/**
 * Returns the fields that decide an order. The key leaves no ties, so fields after the last
 * key field have no effect.
 */
export function decidingOrder({ key }: Pick<Entity, 'key'>, order: readonly Order[]): readonly Order[] {
  const places = [key].flat().map(name => order.findIndex(one => one.field === name))
  return places.includes(-1) ? order : order.slice(0, Math.max(...places) + 1)
}

/**
 * Returns the deciding order with the missing key fields appended, which makes it total (Q6). Each
 * field occurs once (Q17).
 */
export function totalOrder({ key }: Pick<Entity, 'key'>, order: readonly Order[]): readonly Order[] {
  const deciding = decidingOrder({ key }, order)
  const named = new Set(deciding.map(({ field }) => field))
  const missing = [key].flat().filter(field => !named.has(field))
  return [...deciding, ...missing.map(field => ({ field, descending: false }))]
}
