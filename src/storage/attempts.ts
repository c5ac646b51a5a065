import type { Awaitable } from '../lib/awaitable.ts'
import type { Count, Keys, Scope } from '../model/throttle.ts'

/** Counts of attempts to guess a password, shared by all nodes and event loops (L8, docs/decisions/0023). */
export interface Attempts {
  /** Reads the standing of an attempt without counting it. */
  look(attempt: Attempt): Awaitable<Standing>
  /** Counts the attempt as a failure, unless it has to wait. Concurrent attempts see each other. */
  begin(attempt: Attempt): Promise<Begun>
  /** Removes what `begin` counted, because the password was right. */
  takeBack(attempt: Attempt, begun: Begun): Promise<void>
}

export interface Attempt {
  readonly keys: Keys
  /** null: there is no such account. */
  readonly eperson: string | null
  /** The network of the client, as `networkPrefix` writes it. */
  readonly network: string
}

export interface Standing {
  /** Time in ms that the attempt has to wait; 0: none. */
  readonly wait: number
  /** True if the account has logged in from this network within 90 days. */
  readonly isFamiliar: boolean
}

export interface Begun extends Standing {
  /** Time in ms that the next attempt has to wait if this one fails. */
  readonly pause: number
  /** The counts that it changed, with their values before and after. Empty if it has to wait. */
  readonly counted: readonly Counted[]
}

export interface Counted {
  readonly scope: Scope
  readonly before: Count | undefined
  readonly after: Count
}
