import type { Awaitable } from '../../lib/awaitable.ts'
import type { Client } from '../../lib/fair-queue.ts'
import type { Field } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import type { Thread } from '../../threads/thread.ts'
import type { RecordEntity } from '../entities.ts'
import type { Stop } from '../runtime/limits.ts'
import type { PackedColumn } from './columns.ts'
import type { Place } from './look-up.ts'
import type { Way } from './readable-records.ts'
import type { ScalarColumn } from './rows.ts'
import type { PackedValues } from './values.ts'
import type { RecordHandlers } from './work.ts'

/** Slots of records: a list in the order wanted, or a range without its end. Unless records were changed, they are numbers. */
export type RecordNumbers = Uint32Array | readonly [from: number, end: number]

/** A field to sort by, as its index in the entity's list of fields. */
export type SortField = readonly [field: number, descending: boolean]

/** How a record that has a value is found. */
export interface Among {
  readonly column: PackedColumn
  readonly postings: Uint32Array
  readonly slots: Uint32Array | null
}

/** What runs in the turn of a client, off the thread that answers requests. */
export interface RecordWork {
  /** @returns the slots of all records, sorted by these fields; the first is the most significant, and the key decides last */
  sort(entity: RecordEntity, fields: readonly SortField[]): Promise<Uint32Array<SharedArrayBuffer>>
  /** @param field its index */
  column(entity: RecordEntity, field: number): Promise<PackedColumn>
  /** The slots of the records of a revision. */
  slots(entity: RecordEntity): Promise<Uint32Array<SharedArrayBuffer>>
  /** What the records in these slots have in a field, in parts. @param slots ascending */
  values(
    entity: RecordEntity,
    slots: Uint32Array<SharedArrayBuffer>,
    field: Way,
    stop: Stop,
  ): Promise<{ readonly parts: readonly PackedValues[]; readonly lengths: readonly number[] }>
  /** Finds keys among the values of a field. @param field its index */
  search(entity: RecordEntity, field: number, keys: readonly string[], among: Among): Promise<Place[]>
  /** Everything that needs nothing of the store. */
  readonly call: Thread<RecordHandlers>['call']
}

/** How an engine reads records. A version of an entity never changes, and its records are numbered in the order of its key. */
export interface RecordSource {
  /** Runs work when it is the turn of the client. @throws Overloaded if too much is waiting */
  inTurn<T>(client: Client, work: (work: RecordWork) => Promise<T>): Promise<T>
  /** A few records, joined by the separator. */
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

/** How many slots the records are in. */
export const slotsOf = ({ source }: RecordEntity): number => source.slots ?? source.count
