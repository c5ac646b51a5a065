import { StoreUnavailable } from '../../model/errors.ts'
import { codeOf } from './errors.ts'

/**
 * Reads at the first place that can answer: a replica may be out of reach, or lack a table, a column or a role that the
 * primary has already (PostgreSQL, appendix A, class 42 and 22023). What the last place says is the answer.
 */
export async function withReplicaFallback<P, T>(
  places: readonly P[],
  read: (place: P) => Promise<T>,
): Promise<T> {
  for (const [at, place] of places.entries())
    try {
      return await read(place)
    } catch (error) {
      const elsewhere = error instanceof StoreUnavailable || /^(42|22023)/.test(codeOf(error) ?? '')
      if (at === places.length - 1 || !elsewhere) throw error
    }
  throw new StoreUnavailable('there is no database to read from')
}
