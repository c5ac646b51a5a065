import { type Count, familiarFor, forgottenAt } from '../../model/throttle.ts'
import type { Attempt, Begun } from '../attempts.ts'
import { begunIn, type CountRow, countsIn, keysOf, leftOf, type State } from '../statements/attempt-counts.ts'
import type { Queries } from './driver.ts'
import { millis } from './rows.ts'

/** Changes of the counts of attempts. */
export async function stateOf(db: Queries, attempt: Attempt): Promise<State> {
  const rows = await db.rows<CountRow & { now: number; familiar: boolean }>(
    `SELECT now, EXISTS (SELECT 1 FROM familiar_network f
         WHERE f.eperson = $2 AND f.network = $3 AND f.at > now - $4::bigint) AS familiar, key, level, at
       FROM (SELECT ${millis} AS now) one LEFT JOIN attempt ON key = ANY($1)`,
    keysOf(attempt),
    attempt.eperson ?? '',
    attempt.network,
    familiarFor,
  )
  const [first] = rows
  if (!first) throw new Error('the database did not say what time it is')
  return { now: first.now, isFamiliar: first.familiar, counts: countsIn(rows, attempt) }
}

/** Locks the counts, in one order for all, so that attempts at once see each other and none waits in a circle. */
const lock = (db: Queries, attempt: Attempt) =>
  db.run(
    `INSERT INTO attempt (key, level, at, expires) SELECT unnest($1::text[]), 0, 0, 0
     ON CONFLICT (key) DO UPDATE SET key = excluded.key`,
    keysOf(attempt).toSorted(),
  )

export async function beginAttempt(db: Queries, attempt: Attempt): Promise<Begun> {
  await lock(db, attempt)
  const state = await stateOf(db, attempt)
  const begun = begunIn(state)
  await put(
    db,
    begun.counted.map(({ scope, after }) => [attempt.keys[scope], after]),
  )
  // More than an attempt can add: what is forgotten doesn't pile up.
  await db.run(
    `DELETE FROM attempt WHERE key IN
       (SELECT key FROM attempt WHERE expires < $1 ORDER BY expires LIMIT 10 FOR UPDATE SKIP LOCKED)`,
    state.now,
  )
  return begun
}

export async function takeBackAttempt(db: Queries, attempt: Attempt, { counted }: Begun): Promise<void> {
  await lock(db, attempt)
  const { counts } = await stateOf(db, attempt)
  await put(
    db,
    counted.map(one => [attempt.keys[one.scope], leftOf(one, counts)]),
  )
}

async function put(db: Queries, counts: readonly (readonly [key: string, count: Count])[]): Promise<void> {
  await db.run(
    `UPDATE attempt a SET level = n.level, at = n.at, expires = n.expires
     FROM unnest($1::text[], $2::float8[], $3::bigint[], $4::bigint[]) AS n (key, level, at, expires)
     WHERE a.key = n.key`,
    counts.map(([key]) => key),
    counts.map(([, { level }]) => level),
    counts.map(([, { at }]) => at),
    counts.map(([, count]) => forgottenAt(count)),
  )
}
