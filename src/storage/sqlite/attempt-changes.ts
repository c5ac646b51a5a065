import { type Count, familiarFor, forgottenAt } from '../../model/throttle.ts'
import type { Attempt, Begun } from '../attempts.ts'
import { begunIn, type CountRow, countsIn, keysOf, leftOf, type State } from '../statements/attempt-counts.ts'
import type { Database } from './driver.ts'

/** Changes of the counts of attempts. The single writer counts, so attempts at once see each other. */
export function stateOf(db: Database, attempt: Attempt): State {
  const now = Date.now()
  const rows = db.all<CountRow>(
    'SELECT key, level, at FROM attempt WHERE key IN (SELECT value FROM json_each(?))',
    JSON.stringify(keysOf(attempt)),
  )
  const familiar = db.get(
    'SELECT 1 FROM familiar_network WHERE eperson = ? AND network = ? AND at > ?',
    attempt.eperson ?? '',
    attempt.network,
    now - familiarFor,
  )
  return { now, isFamiliar: familiar !== undefined, counts: countsIn(rows, attempt) }
}

export function beginAttempt(db: Database, attempt: Attempt): Begun {
  const state = stateOf(db, attempt)
  const begun = begunIn(state)
  for (const { scope, after } of begun.counted) put(db, attempt.keys[scope], after)
  // More than an attempt can add: what is forgotten doesn't pile up.
  db.run(
    'DELETE FROM attempt WHERE key IN (SELECT key FROM attempt WHERE expires < ? ORDER BY expires LIMIT 10)',
    state.now,
  )
  return begun
}

export function takeBackAttempt(db: Database, attempt: Attempt, { counted }: Begun): void {
  const { counts } = stateOf(db, attempt)
  for (const one of counted) put(db, attempt.keys[one.scope], leftOf(one, counts))
}

function put(db: Database, key: string, count: Count): void {
  db.run(
    `INSERT INTO attempt (key, level, at, expires) VALUES (?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET level = excluded.level, at = excluded.at, expires = excluded.expires`,
    key,
    count.level,
    count.at,
    forgottenAt(count),
  )
}
