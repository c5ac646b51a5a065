import type { Awaitable } from '../../lib/awaitable.ts'
import type { Client } from '../../lib/fair-queue.ts'
import type { Thread } from '../../lib/threads/thread.ts'
import type { Field } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import type { PackedColumn } from '../columns/columns.ts'
import type { Place } from '../columns/look-up.ts'
import type { Way } from '../columns/readable-records.ts'
import type { ScalarColumn } from '../columns/rows.ts'
import type { PackedValues } from '../columns/values.ts'
import type { RecordHandlers } from '../columns/work.ts'
import type { RecordEntity } from '../entities.ts'
import type { Stop } from '../runtime/limits.ts'
import type { FieldFiles } from './field-files.ts'

/** Slots of records: a list, or a range without its end. Unless records were changed, slots are numbers. */
export type RecordNumbers = Uint32Array | readonly [from: number, end: number]

/** The numbers by which a record is found for each value. */
export interface Among {
  readonly column: PackedColumn
  readonly postings: Uint32Array
  readonly slots: Uint32Array | null
}

/** Work that runs in a client's turn, off the thread that answers requests. */
export interface RecordWork {
  /** @param field its index */
  column(entity: RecordEntity, field: number): Promise<PackedColumn>
  /** The slots of the records of a revision. */
  slots(entity: RecordEntity): Promise<Uint32Array<SharedArrayBuffer>>
  /** Reads the values of records in a field, in parts. @param slots ascending */
  values(
    entity: RecordEntity,
    slots: Uint32Array<SharedArrayBuffer>,
    field: Way,
    stop: Stop,
  ): Promise<{ readonly parts: readonly PackedValues[]; readonly lengths: readonly number[] }>
  /** Finds keys among the values of a field. @param field its index */
  search(entity: RecordEntity, field: number, keys: readonly string[], among: Among): Promise<Place[]>
  /** Calls work that needs nothing from the store. */
  readonly call: Thread<RecordHandlers>['call']
}

/** Reads records on an engine. A version never changes; its records are numbered in the order of the key. */
export interface RecordSource {
  /** The files with what is known of fields. */
  readonly fieldFiles: FieldFiles
  /** Starts the thread for work, which otherwise the first work does. */
  begin(): void
  /** Runs work when it is the turn of the client. @throws Overloaded if too much is waiting */
  inTurn<T>(client: Client, work: (work: RecordWork) => Promise<T>): Promise<T>
  /** Reads a few records, joined by the separator. */
  readShort(entity: RecordEntity, numbers: RecordNumbers, separator: string): Awaitable<Uint8Array>
  /** Keeps the version readable until it is closed, for a listing that is sent in pieces. */
  open(entity: RecordEntity, client: Client): Awaitable<OpenRecords>
}

export interface OpenRecords {
  /** @param columns of rows; null: whole records */
  piece(
    numbers: RecordNumbers,
    format: RecordFormat,
    fields: readonly Field[],
    columns: readonly ScalarColumn[] | null,
  ): Promise<Uint8Array>
  close(): Promise<void>
}

/** Number of slots, including those of replaced records. */
export const slotsOf = ({ source }: RecordEntity): number => source.slots ?? source.count
