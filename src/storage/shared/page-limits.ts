import type { Page } from '../../model/entities.ts'
import type { RecordFormat } from '../../model/record-format.ts'

/** How much is read and sent at once, the same on every engine (Q10). */

/** Bytes of JSON that one piece of a listing holds, about, or one record that is larger. */
export const pieceBytes = 128 * 1024

/** A page of at most this many records is read in one go. */
export const shortPage = 100

/** CSV is made record by record, so it always goes in pieces. */
export const isShortPage = ({ limit }: Page, format: RecordFormat): boolean =>
  limit !== null && limit <= shortPage && format !== 'csv'
