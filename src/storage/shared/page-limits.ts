import type { Page } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'

/** How much is read and sent at a time, the same on both engines (Q10). */

/** The approximate size of a piece of a listing in bytes of JSON. A larger record is a piece of its own. */
export const pieceBytes = 128 * 1024

/** A page of at most this many records is read at once. */
export const shortPage = 100

/** CSV is converted record by record, so it is always sent in pieces. */
export const isShortPage = ({ limit }: Page, format: RecordFormat): boolean =>
  limit !== null && limit <= shortPage && format !== 'csv'
