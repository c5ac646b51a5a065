import type { Attempts } from '../attempts.ts'
import { standingIn } from '../statements/attempt-counts.ts'
import { stateOf } from './attempt-changes.ts'
import type { Database } from './driver.ts'
import type { Write } from './group-commit.ts'

/** Counts of attempts in the embedded store. */
export const sqliteAttempts = ({ db, write }: { db: Database; write: Write }): Attempts => ({
  look: attempt => standingIn(stateOf(db, attempt)),
  begin: attempt => write('beginAttempt', attempt),
  takeBack: (attempt, begun) => write('takeBackAttempt', attempt, begun),
})
