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
  /** Present only as true, if JSON is a list here: every value is an array of texts, or a column of a database is an array. */
  readonly list?: true
}

export interface Entity {
  readonly name: string
  /** The field or fields that identify a record. They break the ties of every order (Q6). */
  readonly key: string | readonly string[]
  readonly fields: readonly Field[]
  readonly read: ReadRule
  readonly source: Source
  /** To other entities, as they were declared (docs/decisions/0037). They hold in both directions. */
  readonly relations?: readonly Relation[]
  /** A condition as an AST, which is added to every query that doesn't mention its fields (Q25). */
  readonly defaultCondition?: string
  /** Who may write single records (docs/decisions/0041); without it, nobody. */
  readonly write?: WriteRule
  /** What it is, in words for a person. */
  readonly description?: string
}

/** Records belong together if they are equal in these fields. */
export interface Relation {
  readonly fields: readonly string[]
  readonly to: { readonly entity: string; readonly fields: readonly string[] }
}

/** Where the records are stored. Features treat it as opaque. */
export type Source =
  | TableSource
  | {
      readonly kind: 'records'
      readonly version: string
      readonly count: number
      readonly bytes: number
      readonly largest: number
      /**
       * Of a version that was made by changing some records of another: how many slots its records are in. Some slots are
       * in no use any more. Without it, the number of a record is its slot.
       */
      readonly slots?: number
      /** RFC 3339: when its records changed last. Versions of older releases don't say. */
      readonly imported?: string
    }
  | {
      readonly kind: 'exposed'
      readonly schema: string
      readonly table: string
      /** Fields whose values are compared as text, by code point (Q6), whatever the type of the column. */
      readonly asText: readonly string[]
    }

export interface TableSource {
  readonly kind: 'table'
  readonly table: string
  readonly rows: RowRule
}

/** Which rows of a table non-administrators see: all, those of their audiences, or those about themselves. */
export type RowRule = 'all' | 'audience' | 'own'

export type ReadRule = 'anonymous' | 'eperson' | 'admin' | `group:${string}`

/** Who may write single records of an imported entity: nobody does so without a login. */
export type WriteRule = Exclude<ReadRule, 'anonymous'>

/** Who may read a new entity if no rule is given. */
export const newEntityRule: ReadRule = 'admin'

export interface Order {
  readonly field: string
  readonly descending: boolean
}

/** What a list request asks for, already validated. */
export interface Page {
  readonly order: readonly Order[]
  readonly offset: number
  readonly limit: number | null
  /** Whether the total was requested. */
  readonly total: boolean
}

/** The fields that decide an order: the key leaves no ties, so fields after the last of its fields have no effect. */
export function decidingOrder({ key }: Pick<Entity, 'key'>, order: readonly Order[]): readonly Order[] {
  const places = [key].flat().map(name => order.findIndex(one => one.field === name))
  return places.includes(-1) ? order : order.slice(0, Math.max(...places) + 1)
}

/** The same with what is missing of the key, which makes the order total (Q6). Each field is in it once (Q17). */
export function totalOrder({ key }: Pick<Entity, 'key'>, order: readonly Order[]): readonly Order[] {
  const deciding = decidingOrder({ key }, order)
  const named = new Set(deciding.map(({ field }) => field))
  const missing = [key].flat().filter(field => !named.has(field))
  return [...deciding, ...missing.map(field => ({ field, descending: false }))]
}
