/**
 * A clock that never goes back, whatever is done to that of the machine (T11, docs/decisions/0024). What expires is
 * compared with it.
 */
export interface Clock {
  /** @returns milliseconds since 1970 */
  now(): number
  /**
   * Does the same without a look at the store, for a caller that has just looked something up there and so knows how far time
   * has got. On SQLite, a look is a system call.
   */
  afterLookUp(): number
  /**
   * A time that has certainly been, by which to remove what has expired: the clock of the machine may be far ahead for a
   * moment.
   * @returns milliseconds since 1970; little after the start of a store that has no mark yet
   */
  certain(): number
  /** In ms, how far the clock of the machine is behind; at most some milliseconds unless it was set back. */
  behind(): number
  /** The mark in the store, in ms since 1970: what is no later stays over, also after a restart and on other nodes. */
  kept(): number
  /**
   * Resolves when the store keeps that a time is over; at most once a second, something is written. To be called before
   * a client is told that something true has expired, or it would be valid again when a clock that was ahead is set back. A
   * clock that is further ahead than `plausibleStep` keeps nothing.
   * @param time in ms since 1970
   */
  keep(time: number): Promise<void>
  /** Keeps the time in the store, so that it holds after a restart too. To be called about once a minute. */
  advance(): Promise<void>
}

/** In ms. A time further ahead than this may be from a clock that was wrong; the clocks of nodes differ by less. */
export const plausibleStep = 24 * 3600 * 1000
