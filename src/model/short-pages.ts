import type { Page } from './entities.ts'
import type { RecordFormat } from './record-format.ts'

/** Maximum number of records of a page that is read and sent in one piece. */
export const shortPage = 100

/**
 * True if a page is read and sent in one piece. CSV is converted record by record, so it
 * is always sent in several.
 */
export const isShortPage = ({ limit }: Page, format: RecordFormat): boolean =>
  limit !== null && limit <= shortPage && format !== 'csv'
