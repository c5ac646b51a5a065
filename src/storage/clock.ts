/**
 * A clock that never goes back, even if the machine's clock is set back (T11, docs/decisions/0024). Expiry
 * times are compared with it.
 */
export interface Clock {
  /** @returns milliseconds since 1970 */
  now(): number
  /**
   * Like `now`, but without a look at the store, for a caller that has just looked something up there and so
   * knows the current mark. On SQLite, a look is a system call.
   */
  afterLookUp(): number
  /**
   * A time that has certainly passed. Expired rows are removed by it, because the machine's clock may be far
   * ahead for a moment.
   * @returns milliseconds since 1970; little after the start of a store that has no mark yet
   */
  certain(): number
  /** Time in ms by which the machine's clock is behind; at most some milliseconds unless it was set back. */
  behind(): number
  /** The mark in the store, in ms since 1970. Times up to it stay past, after a restart and on all nodes. */
  kept(): number
  /**
   * Resolves when the store has recorded that a time has passed; writes at most once a second. Called before
   * a client is told that a genuine token has expired: otherwise it would be valid again when a clock that
   * was ahead is set back. A clock that is further ahead than `plausibleStep` records nothing.
   * @param time in ms since 1970
   */
  keep(time: number): Promise<void>
  /** Records the time in the store, so that it holds after a restart too. Called about once a minute. */
  advance(): Promise<void>
}

/** In ms. A time further ahead than this may be from a wrong clock; the clocks of nodes differ by less. */
export const plausibleStep = 24 * 3600 * 1000
