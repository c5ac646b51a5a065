import type { Connection } from './driver.ts'
import { retryOnConflict } from './errors.ts'

/** Runs work in a transaction on one connection, and retries it after a conflict. `work` must be safe to repeat. */
export const transactionOn = <T>(db: Connection, work: () => Promise<T>): Promise<T> =>
  retryOnConflict(async () => {
    // After a conflict the connection is still in the transaction that failed.
    await db.exec('ROLLBACK')
    await db.exec('BEGIN')
    const result = await work()
    await db.exec('COMMIT')
    return result
  })
