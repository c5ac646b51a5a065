import type { Awaitable } from '../lib/awaitable.ts'
import type { KeptSession } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { StoredFactor } from '../model/factors.ts'
import type { VerifiedPassword } from './people.ts'

/** Second factors and recovery codes of epersons (docs/decisions/0081). */
export interface Factors {
  /** The factors of an eperson, oldest first, and the number of recovery codes that are left. */
  of(eperson: string): Awaitable<FactorsOf>
  /** The passkey with this id, and the state of its eperson's password; undefined if there is none. */
  withCredential(credential: string): Awaitable<(StoredFactor & VerifiedPassword) | undefined>
  /** True if some passkey logs in without a password. */
  standsAlone(): Awaitable<boolean>
  /**
   * @param codes hashes of recovery codes if it is to be the first factor; otherwise null
   * @param by the login that has enrolled it; null: the operator
   * @returns `changed` if it is the first and wasn't to be, or the other way round
   */
  add(
    factor: StoredFactor,
    codes: readonly string[] | null,
    by: Enroller | null,
    event: AuditEvent,
  ): Promise<'added' | 'changed' | 'too-many' | 'known' | 'ended'>
  /** @returns false if the eperson has no such factor */
  rename(id: string, eperson: string, name: string, event: AuditEvent): Promise<boolean>
  /** Removes a factor, and with the last one the recovery codes. @returns false if there was none */
  remove(id: string, eperson: string, event: AuditEvent): Promise<boolean>
  /** Removes all factors and recovery codes of an eperson, and ends their sessions and access tokens. */
  reset(eperson: string, event: AuditEvent): Promise<number>
  /** @returns false if the eperson has no factor any more */
  replaceCodes(eperson: string, codes: readonly string[], event: AuditEvent): Promise<boolean>

  /**
   * Records the use of a passkey, once for each value of its counter on all nodes, and ends the count of guesses. A passkey
   * without a counter stays at 0.
   * @returns false if the counter has been there, or the passkey is gone
   */
  use(passkey: Pick<StoredFactor, 'id' | 'eperson'>, counter: number, at: number): Promise<boolean>
  /**
   * Uses a recovery code up, and ends the count of guesses.
   * @returns the number that are left; undefined if there is no such code
   */
  useCode(eperson: string, code: string, event: AuditEvent): Promise<number | undefined>
  /**
   * Uses a code of TOTP once on all nodes, and ends the count of guesses; or counts it as a guess if it is of no factor.
   * @param right the uses that the code is good for, unless they were made before
   * @returns the time in ms that it has to wait, whether or not it is right
   */
  guess(
    eperson: string,
    right: readonly CodeUse[],
    at: number,
  ): Promise<'right' | 'wrong' | { readonly wait: number }>
}

export interface CodeUse {
  readonly id: string
  readonly step: number
  /** The secret, if it was encrypted again. */
  readonly secret: Uint8Array | null
}

interface Enroller {
  /** The session in which the enrolment has begun, as of then, or the login that has none yet; `begun` is then 0. */
  readonly session: KeptSession
  /** The id of the login's ticket, which is used up; null: it has none. */
  readonly ticket: string | null
  /** The session that stays when all others end; null: all go on. */
  readonly stays: KeptSession | null
}

export interface FactorsOf {
  readonly factors: readonly StoredFactor[]
  readonly recoveryCodes: number
}
