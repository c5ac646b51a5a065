import type { FieldType } from '../model/entities.ts'
import { readAt } from './spool.ts'

/**
 * Some records, as they lie in a spool: their JSON, the lines that they begin on, and for each field a *run*: its distinct
 * values in order, and for each record the position of its value among them, its *code*. All that is kept in memory of a
 * batch is where these are.
 */
export interface Batch {
  /** Of the spool. */
  readonly descriptor: number
  readonly count: number
  /** The position of the records, separated by line breaks. */
  readonly json: number
  readonly jsonBytes: number
  /** The position of the lines, 32 bits each. */
  readonly lines: number
  readonly fields: readonly BatchField[]
  /** The position of the numbers that describe the runs, in the order of `fields`. */
  readonly runs: number
}

/** What a batch says of a field. */
export interface BatchField {
  readonly name: string
  /** The first line that has it. */
  readonly line: number
  /** The kinds of values, each with the first line that has one. */
  readonly kinds: ReadonlyMap<FieldType, number>
  /** True if all JSON values are arrays of texts. */
  readonly hasLists: boolean
  /** How many records have a value. */
  readonly filled: number
  /** True if numbers are written as JavaScript wouldn't print them. */
  readonly hasForms: boolean
}

/** How the values of a run are stored. */
export const runKinds = {
  /** As doubles. */
  numbers: 0,
  /** As the bytes of binary texts (sort-keys.ts), after the length of each in 32 bits. */
  texts: 1,
  /** The same, and they are date-times of one form, in which the order of the texts is that of the instants. */
  instants: 2,
  /** The same as texts, but with the marks of their kinds. */
  marked: 3,
} as const

export interface Run {
  readonly descriptor: number
  readonly kind: number
  /** How many distinct values there are. */
  readonly size: number
  /** The positions of the codes, 16 bits each, of the lengths and of the values. */
  readonly codes: number
  readonly lengths: number
  readonly values: number
  /** The position of what tells the texts of each number apart (number-forms.ts), 32 bits each; -1: each has one text. */
  readonly forms: number
  /** For an order that is not that of the values: the code of each entry. */
  readonly codeOf?: Uint16Array
}

/** The numbers that describe a run. */
export const runNumbers = ({
  kind,
  size,
  codes,
  lengths,
  values,
  forms,
}: Omit<Run, 'descriptor'>): number[] => [kind, size, codes, lengths, values, forms]

const numbersOfRun = 6

/** @param field its index among those of the batch */
export function readRun({ descriptor, runs }: Pick<Batch, 'descriptor' | 'runs'>, field: number): Run {
  const numbers = new Float64Array(numbersOfRun)
  readAt(descriptor, numbers, runs + field * numbers.byteLength)
  const [kind = 0, size = 0, codes = 0, lengths = 0, values = 0, forms = -1] = numbers
  return { descriptor, kind, size, codes, lengths, values, forms }
}

/** Marks a record without a value. */
export const noCode = 0xffff
