import { readAt } from '../lib/files-at.ts'
import type { FieldType } from '../model/entities.ts'
import type { Note } from './notes.ts'
import type { Styles } from './number-forms.ts'

/**
 * A batch of records in a spool: their JSON, the lines on which they begin, and a *run* for each field. A run
 * has the distinct values of the field in order, and for each record the position of its value among them,
 * its *code*. Memory holds only the positions of these parts.
 */
export interface Batch {
  /** File descriptor of the spool. */
  readonly descriptor: number
  readonly count: number
  /** Position of the records, which are separated by line breaks. */
  readonly json: number
  readonly jsonBytes: number
  /** Position of the line numbers, 32 bits each. */
  readonly lines: number
  readonly fields: readonly BatchField[]
  readonly notes: readonly Note[]
  /** Position of the numbers that describe the runs, in the order of `fields`. */
  readonly runs: number
}

/** Statistics of a field in a batch. */
export interface BatchField {
  readonly name: string
  /** The first line that has the field. */
  readonly line: number
  /** The kinds of its values, each with the first line that has one. */
  readonly kinds: ReadonlyMap<FieldType, number>
  /** True if all JSON values are arrays of texts. */
  readonly hasLists: boolean
  /** Number of records that have a value. */
  readonly filled: number
  /** True if a number is not written as JavaScript would print it, in a field without a declared type. */
  readonly hasForms: boolean
  /** The styles in which all numbers are written. */
  readonly styles: Styles
}

/** Forms in which the values of a run are stored. */
export const runKinds = {
  /** Doubles. */
  numbers: 0,
  /** Bytes of binary texts (sort-keys.ts). Their lengths are stored separately, 32 bits each. */
  texts: 1,
  /** Texts that are date-times of a single form, in which the order of the texts is that of the instants. */
  instants: 2,
  /** Texts that begin with the marks of their kinds. */
  marked: 3,
} as const

export interface Run {
  readonly descriptor: number
  readonly kind: number
  /** Number of distinct values. */
  readonly size: number
  /** Positions of the codes, 16 bits each, of the lengths and of the values. */
  readonly codes: number
  readonly lengths: number
  readonly values: number
  /**
   * Position of the forms that distinguish the texts of each number (number-forms.ts), 32 bits each; -1 if
   * each number has a single text.
   */
  readonly forms: number
  /** The code of each entry, for an order other than that of the values. */
  readonly codeOf?: Uint16Array
}

/** Returns the numbers that describe a run. */
export const runNumbers = ({
  kind,
  size,
  codes,
  lengths,
  values,
  forms,
}: Omit<Run, 'descriptor'>): number[] => [kind, size, codes, lengths, values, forms]

const numbersOfRun = 6

/** @param field index of the field in the batch */
export function readRun({ descriptor, runs }: Pick<Batch, 'descriptor' | 'runs'>, field: number): Run {
  const numbers = new Float64Array(numbersOfRun)
  readAt(descriptor, numbers, runs + field * numbers.byteLength)
  const [kind = 0, size = 0, codes = 0, lengths = 0, values = 0, forms = -1] = numbers
  return { descriptor, kind, size, codes, lengths, values, forms }
}

/** The code of a record without a value. */
export const noCode = 0xffff
