import type { Awaitable } from '../lib/awaitable.ts'
import type { AccessToken, StoredAccessToken } from '../model/access-tokens.ts'
import type { KeptSession, Session } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { ProviderSession } from '../model/identities.ts'
import type { AllowedSessions, Begun } from '../model/sessions.ts'
import type { Count, Keys, Scope } from '../model/throttle.ts'
import type { VerifiedPassword } from './people.ts'
import type { session } from './schema/sessions.ts'
import type { NewRow, RowOf } from './schema/table.ts'
import type { Part, Window } from './window.ts'

/** Sessions of epersons, as every engine keeps them (contract section 2, docs/decisions/0040). */
export interface Sessions {
  /** The stamp of an enabled eperson; undefined if there is none. Looked up on every authenticated request. */
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
  /** Replaces the session key, which ends every token of the eperson (T4). @returns their latest provider session */
  logout(uuid: string, event: AuditEvent): Promise<ProviderSession | undefined>
  /** The eperson's sessions that may be alive, newest first. */
  list(session: Session): Awaitable<readonly ListedSession[]>
  /** Records a refresh, with its time and network: at once, or within a minute if it repeats (D9). */
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
   * could revive, so the mark is set to what the store's clock says (docs/decisions/0024).
   * @returns the number of epersons
   */
  endAll(event: AuditEvent): Promise<number>
  /**
   * Removes sessions that can't be alive any more, for some epersons at a time.
   * @param after the last eperson that was looked at; '' to begin
   * @returns the last eperson that was looked at; undefined at the end
   */
  forget(certain: number, after: string): Promise<string | undefined>
}

/** A session as its eperson sees it. */
export type ListedSession = Omit<RowOf<typeof session>, 'eperson' | 'session_key'>

/**
 * What a login says of the session that it begins, at the current time. The store may move that by some milliseconds, so that no two
 * sessions of an eperson begin at the same time.
 */
export type NewSession = Omit<
  NewRow<typeof session>,
  'eperson' | 'method' | 'network' | 'session_key' | 'used' | 'used_network'
>

export interface Login extends VerifiedPassword {
  readonly begins: NewSession
  /** A hash with the current parameters, if the stored one has weaker ones. */
  readonly renewedHash: string | null
  /** The session key when the login began, if a ticket stands for it: an ending since then has replaced it. */
  readonly sessionKey?: Uint8Array
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

/** Access tokens of programs, as every engine keeps them (docs/decisions/0040). */
export interface AccessTokens {
  /** @returns undefined if there is none, or the eperson's password was changed since it was made */
  find(id: string): Awaitable<StoredAccessToken | undefined>
  /** Lists the tokens of one eperson, or of all (null), oldest first. */
  list(eperson: string | null): Awaitable<readonly AccessToken[]>
  /** A page of all tokens, oldest first. */
  page(window: Window): Awaitable<Part<AccessToken>>
  add(
    token: Omit<StoredAccessToken, 'used'>,
    event: AuditEvent,
  ): Promise<'added' | 'name-taken' | 'too-many' | 'no-eperson'>
  /**
   * Ends it on every node at once.
   * @param eperson the owner that the token must have; null: any
   * @returns false if there was no such token
   */
  revoke(id: string, eperson: string | null, event: AuditEvent): Promise<boolean>
  /** @returns the number of removed tokens */
  revokeAll(eperson: string, event: AuditEvent): Promise<number>
  /** Records a use, at most once per `useInterval`. */
  noteUse(id: string, at: number): Promise<void>
}

/** Precision in ms of the recorded time of last use. */
export const useInterval = 60_000

/** Counts of attempts to guess a password, shared by all nodes and event loops (L8, docs/decisions/0023). */
export interface Attempts {
  /** Reads the standing of an attempt without counting it. */
  look(attempt: Attempt): Awaitable<Standing>
  /** Counts the attempt as a failure, unless it has to wait. Concurrent attempts see each other. */
  begin(attempt: Attempt): Promise<BegunAttempt>
  /** Removes what `begin` counted, because the password was right. */
  takeBack(attempt: Attempt, begun: BegunAttempt): Promise<void>
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

export interface BegunAttempt extends Standing {
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
