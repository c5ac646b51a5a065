import {
  type Count,
  familiarFor,
  forgottenAt,
  type Keys,
  type Scope,
  scopes,
  waitFor,
  weightOf,
  withFailure,
} from '../model/throttle.ts'
import * as tables from '../storage/schema/sessions.ts'

import type { Change, Offered, Read } from '../storage/statements/statements.ts'
import * as db from '../storage/statements/statements.ts'

/** Counts of attempts to guess a password (docs/decisions/0023). */
export const attempts = {
  reads: {
    /** Reads the standing of an attempt without counting it. */
    *look(attempt: Attempt): Read<Standing> {
      return standingIn(yield* stateOf(attempt))
    },
  },
  changes: {
    /** Counts the attempt as a failure, unless it has to wait. Concurrent attempts see each other. */
    *begin(attempt: Attempt): Change<BegunAttempt> {
      yield* lockCounts(attempt)
      const state = yield* stateOf(attempt)
      const begun = begunIn(state)
      yield* put(attempt, new Map(begun.counted.map(({ scope, after }) => [scope, after])))
      // Removes more rows than an attempt adds, so that expired ones don't pile up.
      yield* db.run(
        `DELETE FROM attempt WHERE key IN
           (SELECT key FROM attempt WHERE expires < $1 ORDER BY expires LIMIT 10 FOR UPDATE SKIP LOCKED)`,
        state.now,
      )
      return begun
    },
    /** Removes what `begin` counted, because the password was right. */
    *takeBack(attempt: Attempt, { counted }: BegunAttempt): Change<void> {
      yield* lockCounts(attempt)
      const { counts } = yield* stateOf(attempt)
      yield* put(attempt, new Map(counted.map(one => [one.scope, leftOf(one, counts)])))
    },
  },
}

export type Attempts = Offered<typeof attempts>

export interface Attempt {
  readonly keys: Keys
  /** null: there is no such account. */
  readonly eperson: string | null
  /** The network of the client, as `networkPrefix` writes it. */
  readonly network: string
}

interface Standing {
  /** Time in ms that the attempt has to wait; 0: none. */
  readonly wait: number
  /** True if the account has logged in from this network within 90 days. */
  readonly isFamiliar: boolean
}

export interface BegunAttempt extends Standing {
  /** Time in ms that the next attempt has to wait if this one fails. */
  readonly pause: number
  /** The counts that it changed, with their values before and after. Empty if it has to wait. */
  readonly counted: readonly Counted[]
}

interface Counted {
  readonly scope: Scope
  readonly before: Count | undefined
  readonly after: Count
}

interface State {
  /** The store's time in ms since 1970: the clocks of nodes may differ. */
  readonly now: number
  readonly isFamiliar: boolean
  readonly counts: ReadonlyMap<Scope, Count>
}

const keysOf = ({ keys }: Attempt): readonly string[] => scopes.map(scope => keys[scope])

/** Reads everything, including the time, in one statement, because every attempt waits for it. */
function* stateOf(attempt: Attempt): Read<State> {
  const found = yield* db.rows<Count & { key: string; now: number; isFamiliar: number }>(
    stateSql,
    keysOf(attempt),
    attempt.eperson ?? '',
    attempt.network,
    familiarFor,
  )
  const [first] = found
  if (!first) throw new Error('the store did not say what time it is')
  const counts = new Map(
    scopes.flatMap(scope => {
      const row = found.find(({ key }) => key === attempt.keys[scope])
      return row ? [[scope, { level: row.level, at: row.at }] as const] : []
    }),
  )
  return { now: first.now, isFamiliar: first.isFamiliar === 1, counts }
}

const stateAt = (time: string) =>
  `SELECT now, key, level, at, CAST(EXISTS (SELECT 1 FROM familiar_network f
       WHERE f.eperson = $2 AND f.network = $3 AND f.at > now - CAST($4 AS BIGINT)) AS INTEGER) AS "isFamiliar"
   FROM (SELECT ${time} AS now) one LEFT JOIN attempt ON key = ANY($1)`
const stateSql = {
  sqlite: stateAt(db.storeTime.sqlite),
  postgres: stateAt(db.storeTime.postgres),
}

/** Locks the counts in one order, so that concurrent attempts see each other and don't deadlock. */
const lockCounts = (attempt: Attempt): Change<void> =>
  db.lock(
    `INSERT INTO attempt (key, level, at, expires) SELECT unnest(CAST($1 AS TEXT[])), 0, 0, 0
     ON CONFLICT (key) DO UPDATE SET key = excluded.key`,
    keysOf(attempt).toSorted(),
  )

const put = ({ keys }: Attempt, counts: ReadonlyMap<Scope, Count>): Change<number> =>
  db.insertAll(
    tables.attempt,
    [...counts].map(([scope, count]) => ({ key: keys[scope], ...count, expires: forgottenAt(count) })),
    '(key) DO UPDATE SET level = excluded.level, at = excluded.at, expires = excluded.expires',
  )

const standingIn = ({ counts, isFamiliar, now }: State): Standing => ({
  wait: waitFor(counts, isFamiliar, now),
  isFamiliar,
})

/** Counts one more failure, unless the attempt has to wait. */
function begunIn(state: State): BegunAttempt {
  const standing = standingIn(state)
  if (standing.wait > 0) return { ...standing, pause: 0, counted: [] }
  const { counts, isFamiliar, now } = state
  const after = withFailure(counts, isFamiliar, now)
  return {
    ...standing,
    pause: waitFor(after, isFamiliar, now),
    counted: [...after].map(([scope, count]) => ({ scope, before: counts.get(scope), after: count })),
  }
}

/** The count without the attempt that is taken back, although others may have been counted since. */
function leftOf({ scope, before, after }: Counted, counts: ReadonlyMap<Scope, Count>): Count {
  const { level, at } = counts.get(scope) ?? nothing
  if (level === after.level && at === after.at) return before ?? nothing
  return { level: Math.max(0, level - weightOf(scope)), at }
}

const nothing: Count = { level: 0, at: 0 }
