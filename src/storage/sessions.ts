import type { Awaitable } from '../lib/awaitable.ts'
import type { KeptSession, Session } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { ProviderSession } from '../model/identities.ts'
import type { AllowedSessions, Begun, ListedSession, NewSession } from '../model/sessions.ts'
import type { VerifiedPassword } from './people.ts'

/** Sessions of epersons, as every engine keeps them (contract section 2, docs/decisions/0040). */
export interface Sessions {
  /**
   * The stamp of an enabled eperson; undefined if there is none. Looked up on every authenticated request.
   */
  stampOf(uuid: string): Awaitable<number | undefined>
  /** An enabled eperson with their groups and the key of their sessions; undefined if there is none. */
  of(uuid: string): Awaitable<Session | undefined>
  /** The sessions that the system-wide alert allows, as the last answer of `stampOf` or `of` has read it. */
  allowed(): AllowedSessions
  /**
   * Records a login with a correct password, begins a session, and stores the renewed hash if there is one.
   * @returns the session to issue the token for; undefined if the eperson was disabled or deleted, or their
   * password was changed, since `credentials` was read
   */
  begin(login: Login, event: AuditEvent): Promise<Begun | undefined>
  /**
   * Replaces the session key, which ends every token of the eperson (T4).
   * @returns their latest provider session
   */
  logout(uuid: string, event: AuditEvent): Promise<ProviderSession | undefined>
  /** The eperson's sessions that may be alive, newest first. */
  list(session: Session): Awaitable<readonly ListedSession[]>
  /** Records a refresh, with its time and network. */
  refresh(refreshed: Refreshed, event: AuditEvent): Promise<void>
  /**
   * Ends one session of the eperson: no token of it is accepted any more on any node.
   * @param begun the time when the session began
   * @param own the session that makes the request
   * @param certain a time that has certainly passed
   * @returns false if there was no such session
   */
  end(uuid: string, begun: number, own: KeptSession, certain: number, event: AuditEvent): Promise<boolean>
  /** Ends all sessions of the eperson but one, if that one is still alive. */
  endOthers(uuid: string, own: KeptSession, event: AuditEvent): Promise<void>
  /**
   * Ends every session and every other token of all epersons, in one step. Nothing is left that a wrong clock
   * could revive, so the mark is set to the machine's time (docs/decisions/0024).
   * @param now milliseconds since 1970
   * @returns the number of epersons
   */
  endAll(event: AuditEvent, now: number): Promise<number>
  /**
   * Removes sessions that can't be alive any more, for some epersons at a time.
   * @param after the last eperson that was looked at; '' to begin
   * @returns the last eperson that was looked at; undefined at the end
   */
  forget(certain: number, after: string): Promise<string | undefined>
}

export interface Login extends VerifiedPassword {
  readonly begins: NewSession
  /** A hash with the current parameters, if the stored one has weaker ones. */
  readonly renewedHash: string | null
}

/** The methods on the path of requests, which each engine implements in its own way. */
export type HotSessions = Pick<Sessions, 'stampOf' | 'of' | 'allowed' | 'begin' | 'refresh' | 'logout'>

/** A refresh. The eperson and the method of the login are in its event. */
export interface Refreshed extends NewSession {
  /** Time of the refresh, in ms since 1970. */
  readonly used: number
  /** The stamp of the eperson when the token was verified. */
  readonly stamp: number
}

/** The secrets that sign tokens (T7). */
export interface Secrets {
  /** The signing secret first. New tokens are signed with it; tokens signed with any are accepted (T7). */
  current(): readonly Uint8Array[]
  /** Adds a new secret to sign with. @returns the number of accepted secrets */
  rotate(event: AuditEvent): Promise<number>
}
