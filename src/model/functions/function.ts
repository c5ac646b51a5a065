import { decimalKey } from '../../lib/decimals.ts'
import type { FieldType } from '../entities.ts'
import type { Aggregate, Computed } from '../plan.ts'

/** The argument behind the field in a call. */
export interface Argument {
  readonly kind: string
  /** The text, or the number as JSON writes it; '' for other values. */
  readonly text: string
  /** The argument as messages name it. */
  readonly shown: string
  wrong(message: string, members?: { readonly legal: readonly string[] }): Error
}

/** The description of a function of the query language (docs/decisions/0089). */
interface Described {
  /** The result in words, for the reference. */
  readonly documentation: string
  /** Present unless there is always a field. */
  readonly field?: 'optional' | 'none'
  /** The types of fields that it takes; absent: all. */
  readonly types?: readonly FieldType[]
  /** Present if there is an argument behind the field: both in words, and examples of it. */
  readonly takes?: { readonly words: string; readonly examples: readonly (string | number)[] }
}

/** A function of one value of a record. */
export interface FieldFunction extends Described {
  readonly kind: 'computed'
  /** Present if conditions may have it: by its name, or only as `field by …` in PQL. */
  readonly inConditions?: 'by name' | 'by'
  /** @param of the type of the field @returns the value in plans, and its type */
  plan(of: FieldType, argument: Argument): { readonly computed: Computed; readonly type: FieldType }
}

/** A function of a search, which engines know (docs/decisions/0038). */
export interface SearchFunction extends Described {
  readonly kind: 'search'
}

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

/** Ranks of records, or the numbers of their groups. */
type Ranks = Uint16Array | Uint32Array

/** Selected records among those from number `from` to below `end`. */
export interface Part {
  readonly from: number
  readonly end: number
  /** Number of selected records, and the position of the first among all that are selected. */
  readonly length: number
  readonly first: number
  /** Their numbers, counted from `from`; undefined: all. */
  readonly places: Uint32Array | undefined
}

/** A value of each group. */
export interface Result {
  /** The value of a group as JSON. */
  json(id: number): string
  /** Ranks of the groups, for sorting; nulls last. */
  ranks(ids: Uint32Array): Uint32Array
}

/** Takes all parts once more. */
export type Again = (accumulator: Pick<Accumulator, 'take'>) => void

/** An aggregate that takes the records part by part. */
export interface Accumulator {
  /** @param ids the group of each record of the part */
  take(part: Part, ids: Ranks): void
  result(again: Again): Result
}

/** Sums of groups, and the numbers of values in them. A sum is a BigInt if no double holds it exactly. */
interface Sums {
  sum(id: number): number | bigint
  count(id: number): number
}

/** A field of imported records, as aggregates read it: values in their order by rank. */
export interface RankedField {
  /** Number of different values, and the rank of null. */
  readonly distinct: number
  /** Reads the ranks of the selected records, valid until the next call. */
  ranks(part: Part): Ranks
  /** The ranks of values that count: of JSON only numbers. */
  counted(): { readonly from: number; readonly end: number }
  /** The value of a rank as JSON. */
  json(rank: number): string
  /** Adds the numbers of each group. */
  adding(size: number): Pick<Accumulator, 'take'> & { result(again: Again): Sums }
  /** Asked now and then by work that may take long. @throws Error if it takes too long */
  mayGoOn(): void
}

/** Takes numbers as JSON writes them. */
export interface NumberFold {
  /** @param number as JSON writes it, or a whole number of a column */
  add(number: string | bigint): void
  /** @returns null without numbers */
  result(): string | null
}

/** A function of many records. If it takes fields of some types only, it takes no lists. */
export interface AggregateFunction extends Described {
  readonly kind: 'aggregate'
  /** Present if plans have another function in its place. */
  readonly is?: Pick<Required<Aggregate>, 'name' | 'argument'>
  /** Present if values without an order are refused. */
  readonly ordered?: true
  /** @param of the type of the field */
  type(of: FieldType): FieldType
  /** Reads the argument for plans. */
  argument?(given: Argument): string
  /** Present if it counts values, which needn't be read, and is 0 of none. */
  readonly counts?: true
  /** Folds imported records. @param size number of groups @param argument '' if there is none */
  fold(field: RankedField, size: number, argument: string): Accumulator
  /** Present if it is made of numbers: folds those that SQLite reads, and writes it as SQL for PostgreSQL. */
  readonly numbers?: {
    fold(argument: string): NumberFold
    postgres(number: string, argument: string): string
  }
  /** Writes it of values that are no numbers, as SQL for both databases. */
  sql?(value: string, key: () => string): string
}

/** Numbers of groups, sorted by value. */
export function numberResult(json: (id: number) => string): Result {
  return {
    json,
    ranks: ids => {
      const keys = Array.from(ids, id => {
        const text = json(id)
        return text === 'null' ? undefined : decimalKey(text)
      })
      const sorted = [...new Set(keys.filter(key => key !== undefined))].sort()
      const places = new Map(sorted.map((key, at) => [key, at]))
      return Uint32Array.from(keys, key => (key === undefined ? sorted.length : (places.get(key) ?? 0)))
    },
  }
}

/** The types of which numbers are made; of JSON, only numbers count. */
export const numbers: readonly FieldType[] = ['integer', 'number', 'json']
