import { StoreUnavailable } from '../../lib/errors.ts'
import { type Database, type OpenOptions, openSqlite } from '../../lib/sqlite.ts'

export {
  type Database,
  type OpenOptions,
  type Prepared,
  type Row,
  type SqlValue,
  tick,
  transaction,
} from '../../lib/sqlite.ts'

/**
 * @throws StoreUnavailable, like each statement, if the file can't be opened, is locked, or the disk is full
 */
export const openDatabase = (path: string, options: OpenOptions): Database =>
  openSqlite(path, options, (why, cause) => new StoreUnavailable(`${path}: ${why}`, { cause }))
