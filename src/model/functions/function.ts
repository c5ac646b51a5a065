import type { Computed } from '../plan.ts'

/** A value in a statement of PostgreSQL, in the forms that functions need. */
interface PostgresValue {
  readonly sql: string
  readonly isTime: boolean
  /** The value as NUMERIC; NULL if it is JSON that is no number. */
  number(): string
  /** The instant as TIMESTAMP in UTC. */
  time(): string
  /** The value as JSON. */
  json(): string
  /** Binds a text. */
  bindText(text: string): string
}

type Of<K extends Computed['kind']> = Extract<Computed, { kind: K }>

/** A value that is computed of another one of the same record, by its kind in plans (docs/decisions/0089). */
export interface ComputedValue<K extends Computed['kind'] = Computed['kind']> {
  readonly gives: 'integer' | 'number' | 'text' | 'date-time'
  /**
   * @param value not null, with exact numbers; an instant is text
   * @returns a number as JSON writes it, or the text; undefined if there is none
   */
  of(computed: Of<K>, value: unknown): string | undefined
  /**
   * True if no other value comes between two values of which the same is computed.
   * @param first the first of all values in their order
   */
  isGradual(computed: Of<K>, first: unknown): boolean
  /** Writes it as SQL; SQLite calls `of`. */
  postgres(computed: Of<K>, value: PostgresValue): string
  /** Present for buckets: returns the one after this. */
  next?(computed: Of<K>, start: string): string
}
