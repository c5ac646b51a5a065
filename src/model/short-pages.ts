import type { Page } from './entities.ts'
import type { RecordFormat } from './record-format.ts'

/** A page of at most this many records is read and sent at once. */
export const shortPage = 100

/** CSV is converted record by record, so it is always sent in pieces. */
export const isShortPage = ({ limit }: Page, format: RecordFormat): boolean =>
  limit !== null && limit <= shortPage && format !== 'csv'
