import { StoreUnavailable } from '../../model/errors.ts'
import { codeOf } from './errors.ts'

/**
 * Reads from the first database that can answer. A replica may be unreachable, or lack a table, column or role that the
 * primary already has (PostgreSQL, appendix A, class 42 and 22023). An error of the last database is final.
 * @param databases the replica, if there is one, then the primary
 */
export async function withReplicaFallback<D, T>(
  databases: readonly D[],
  read: (database: D) => Promise<T>,
): Promise<T> {
  for (const [at, database] of databases.entries())
    try {
      return await read(database)
    } catch (error) {
      const mayWorkElsewhere = error instanceof StoreUnavailable || /^(42|22023)/.test(codeOf(error) ?? '')
      if (at === databases.length - 1 || !mayWorkElsewhere) throw error
    }
  throw new StoreUnavailable('there is no database to read from')
}
