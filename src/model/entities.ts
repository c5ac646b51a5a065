/** Entities and pages of them, as every room knows them (contract section 6). */

export type FieldType = 'integer' | 'number' | 'boolean' | 'date-time' | 'text' | 'json'

export interface Field {
  readonly name: string
  readonly type: FieldType
  readonly nullable: boolean
  /** Only where it is false: values without an order. */
  readonly sortable?: false
}

export interface Entity {
  readonly name: string
  /** The field, or the fields together, that tell records apart: the last word in every order (Q6). */
  readonly key: string | readonly string[]
  readonly fields: readonly Field[]
  readonly read: ReadRule
  readonly source: Source
}

/** Where the records are; opaque to features. */
export type Source =
  | TableSource
  | {
      readonly kind: 'records'
      readonly version: string
      readonly count: number
      readonly bytes: number
      readonly largest: number
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

/** Which rows of a table somebody sees who is no administrator: all, those of audiences, or those about oneself. */
export type RowRule = 'all' | 'audience' | 'own'

export type ReadRule = 'anonymous' | 'eperson' | 'admin' | `group:${string}`

export interface Order {
  readonly field: string
  readonly descending: boolean
}

/** What a list request asks for, with every value known to be good. */
export interface Page {
  readonly order: readonly Order[]
  readonly offset: number
  readonly limit: number | null
  /** Whether the total is asked for. */
  readonly total: boolean
}
