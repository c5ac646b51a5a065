import type { Attempts } from '../attempts.ts'
import { standingIn } from '../statements/attempt-counts.ts'
import { beginAttempt, stateOf, takeBackAttempt } from './attempt-changes.ts'
import type { Pool } from './driver.ts'

/** Counts of attempts in PostgreSQL. */
export const postgresAttempts = (pool: Pool): Attempts => ({
  look: async attempt => standingIn(await stateOf(pool, attempt)),
  begin: attempt => pool.transaction(db => beginAttempt(db, attempt)),
  takeBack: (attempt, begun) =>
    begun.counted.length === 0
      ? Promise.resolve()
      : pool.transaction(db => takeBackAttempt(db, attempt, begun)),
})
