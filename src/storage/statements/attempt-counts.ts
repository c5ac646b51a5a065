import { type Count, type Scope, scopes, waitFor, weightOf, withFailure } from '../../model/throttle.ts'
import type { Attempt, Begun, Counted, Standing } from '../attempts.ts'

/** What both engines do with the counts of an attempt (docs/decisions/0023). */
export interface State {
  /** ms since 1970, by the clock that all who share the store go by. */
  readonly now: number
  readonly isFamiliar: boolean
  readonly counts: ReadonlyMap<Scope, Count>
}

export type CountRow = { key: string; level: number; at: number }

export const keysOf = ({ keys }: Attempt): readonly string[] => scopes.map(scope => keys[scope])

export const countsIn = (rows: readonly CountRow[], { keys }: Attempt): ReadonlyMap<Scope, Count> =>
  new Map(
    scopes.flatMap(scope => {
      const row = rows.find(({ key }) => key === keys[scope])
      return row ? [[scope, { level: row.level, at: row.at }] as const] : []
    }),
  )

export const standingIn = ({ counts, isFamiliar, now }: State): Standing => ({
  wait: waitFor(counts, isFamiliar, now),
  isFamiliar,
})

/** Counts a failure more, for the caller to store, unless the attempt has to wait. */
export function begunIn(state: State): Begun {
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

/** What is left of the count when the attempt is taken back, and others may have been counted since. */
export function leftOf({ scope, before, after }: Counted, counts: ReadonlyMap<Scope, Count>): Count {
  const { level, at } = counts.get(scope) ?? nothing
  if (level === after.level && at === after.at) return before ?? nothing
  return { level: Math.max(0, level - weightOf(scope)), at }
}

const nothing: Count = { level: 0, at: 0 }
