import type { Awaitable } from '../lib/awaitable.ts'
import type { KeptSession, Session } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { ProviderSession } from '../model/identities.ts'
import type { AllowedSessions, Begun, ListedSession, NewSession } from '../model/sessions.ts'
import type { VerifiedPassword } from './people.ts'

/** Who is logged in, and the sessions that have begun, as every engine keeps them (contract section 2, docs/decisions/0040). */
export interface Sessions {
  /** The stamp of an enabled eperson; undefined if there is none. Looked up on every authenticated request. */
  stampOf(uuid: string): Awaitable<number | undefined>
  /** An enabled eperson with their groups and the key of their sessions; undefined if there is none. */
  of(uuid: string): Awaitable<Session | undefined>
  /** Whose sessions the system-wide alert allows. It is as fresh as the last answer of `stampOf` or `of`, which read it. */
  allowed(): AllowedSessions
  /**
   * Records a login with a correct password, begins a session, and stores the renewed hash if there is one.
   * @returns the session to issue the token for; undefined if the eperson was disabled or deleted, or their password
   *   was changed, since `credentials` was read
   */
  begin(login: Login, event: AuditEvent): Promise<Begun | undefined>
  /** Replaces the session key, which ends every token of the eperson (T4). @returns their latest provider session */
  logout(uuid: string, event: AuditEvent): Promise<ProviderSession | undefined>
  /** Those that may be alive, the newest first. */
  list(session: Session): Awaitable<readonly ListedSession[]>
  /** Records a refresh, and when and where it was. */
  refresh(refreshed: Refreshed, event: AuditEvent): Promise<void>
  /**
   * Ends one session of the eperson: no token of it is accepted any more on any node.
   * @param begun which one
   * @param own the session that asks
   * @param certain a time that has certainly been
   * @returns whether there was such a session
   */
  end(uuid: string, begun: number, own: KeptSession, certain: number, event: AuditEvent): Promise<boolean>
  /** Ends all sessions of the eperson but one, if that one is still alive. */
  endOthers(uuid: string, own: KeptSession, event: AuditEvent): Promise<void>
  /**
   * Ends every session and every other token of all epersons, in one step. Nothing is left that a wrong clock could revive,
   * so time goes on from the machine's (docs/decisions/0024).
   * @param now milliseconds since 1970
   * @returns how many epersons there are
   */
  endAll(event: AuditEvent, now: number): Promise<number>
  /**
   * Removes sessions that can't be alive any more, of some epersons at a time.
   * @param after the last eperson that was looked at; '' to begin
   * @returns the last one of these; undefined at the end
   */
  forget(certain: number, after: string): Promise<string | undefined>
}

export interface Login extends VerifiedPassword {
  readonly begins: NewSession
  /** A hash with the current parameters, if the stored one has weaker ones. */
  readonly renewedHash: string | null
}

/** The methods on the path of requests, which each engine has in its own way. */
export type HotSessions = Pick<Sessions, 'stampOf' | 'of' | 'allowed' | 'begin' | 'refresh' | 'logout'>

/** Whose it is, and how it began, is in the event. */
export interface Refreshed extends NewSession {
  /** When it was refreshed. */
  readonly used: number
  /** That of the eperson when the token was verified. */
  readonly stamp: number
}

/** The secrets that sign tokens (T7). */
export interface Secrets {
  /** The signing secret first. New tokens are signed with it; tokens signed with any are accepted (T7). */
  current(): readonly Uint8Array[]
  /** Adds a new secret to sign with. @returns how many secrets are accepted now */
  rotate(event: AuditEvent): Promise<number>
}
