import type { Connection } from './driver.ts'
import { retryOnConflict } from './errors.ts'

/** Runs work in a transaction on one connection, and retries it after a conflict. `work` must be safe to repeat. */
export const transactionOn = <T>(db: Connection, work: () => Promise<T>): Promise<T> =>
  retryOnConflict(async () => {
    await db.exec('BEGIN')
    try {
      const result = await work()
      await db.exec('COMMIT')
      return result
    } catch (error) {
      // A connection that was lost has rolled back already.
      await db.exec('ROLLBACK').catch(() => {})
      throw error
    }
  })
