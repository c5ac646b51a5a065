import type { Config } from '../config/config.ts'
import type { NewSession } from '../storage/statements/sessions.ts'
import { type Clock, plausibleStep } from '../storage/storage.ts'
import type { UnverifiedJwt } from './jwt.ts'

export type SessionLifetimes = Pick<Config, 'sessionLifetime'>

/** The life of a token, with times in ms since 1970. */
export interface Life {
  /** Start of the token's session. */
  readonly begun: number
  /** End of the token, which is never after that of its session. */
  readonly ends: number
  /** True from `exp` on, without grace (T3, RFC 7519 §4.1.4), and for a session that begins in the future. */
  readonly isOver: boolean
  /** True if the store has kept a time past the end, so that the token stays over if the clock is set back. */
  readonly isKept: boolean
}

/**
 * The age of sessions (T11, docs/decisions/0024). The setting is applied whenever a token is verified, so a
 * change also applies to sessions that have begun.
 */
export function createSessionAge(clock: Clock, { sessionLifetime }: SessionLifetimes) {
  const endOf = (begun: number) =>
    sessionLifetime === null ? Number.POSITIVE_INFINITY : begun + Math.round(sessionLifetime * 1000)
  /**
   * The expiry in seconds with a fraction (T2), never after the session's end. Call it after the session was
   * looked up. @param lifetime seconds
   */
  const expiry = (begun: number, lifetime: number): number =>
    Math.min(Math.round(clock.afterLookUp() + lifetime * 1000), endOf(begun)) / 1000

  return {
    /** The latest end of a session, in ms since 1970. */
    endOf,
    expiry,

    /**
     * The expiry in whole seconds, which many JWT parsers require. It is rounded down, so that no token
     * outlives its lifetime.
     * @param before the end of the token that is refreshed, in ms since 1970: the new one ends in another
     *   second (T3), unless it ends with the session
     */
    wholeExpiry: (begun: number, lifetime: number, before: number | undefined): number => {
      const exp = Math.floor(expiry(begun, lifetime))
      const isLast = exp * 1000 + 1000 > endOf(begun)
      return exp * 1000 === before && !isLast && (exp - 1) * 1000 > clock.now() ? exp - 1 : exp
    },

    lifeOf: ({ claims, begun }: Pick<UnverifiedJwt, 'claims' | 'begun'>): Life => {
      const now = clock.now()
      const ends = Math.min(claims.exp * 1000, endOf(begun))
      // A session that begins in the future comes from a clock that was wrong.
      const isOver = now >= ends || begun >= now + plausibleStep
      return { begun, ends, isOver, isKept: isOver && ends <= clock.kept() }
    },
  }
}

/** A new session, with the end of its first token. @param begun in ms since 1970 */
export const newSession = (begun: number, { tokenLifetime }: Pick<Config, 'tokenLifetime'>): NewSession => ({
  begun,
  expires: Math.ceil(begun + tokenLifetime * 1000),
})
