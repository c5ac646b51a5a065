import type { Awaitable } from '../lib/awaitable.ts'
import type { Count, Keys, Scope } from '../model/throttle.ts'

/** Counts of attempts to guess a password, shared by all nodes and event loops (L8, docs/decisions/0023). */
export interface Attempts {
  /** Counts nothing. */
  look(attempt: Attempt): Awaitable<Standing>
  /** Counts the attempt as a failure, unless it has to wait. Of several at once, each sees the ones before. */
  begin(attempt: Attempt): Promise<Begun>
  /** The password was right: what `begin` has counted is as if it had not been. */
  takeBack(attempt: Attempt, begun: Begun): Promise<void>
}

export interface Attempt {
  readonly keys: Keys
  /** null: there is no such account. */
  readonly eperson: string | null
  /** Where it comes from, in the form of `networkOf`. */
  readonly network: string
}

export interface Standing {
  /** How many ms it has to wait; 0: it may go on. */
  readonly wait: number
  /** Whether the account has logged in from this network within 90 days. */
  readonly isFamiliar: boolean
}

export interface Begun extends Standing {
  /** How many ms the next attempt has to wait, if this one fails. */
  readonly pause: number
  /** What it counted, and what was there before. Empty if it has to wait. */
  readonly counted: readonly Counted[]
}

export interface Counted {
  readonly scope: Scope
  readonly before: Count | undefined
  readonly after: Count
}
