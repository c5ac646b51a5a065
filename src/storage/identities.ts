import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type {
  Identity,
  LinkedIdentity,
  Matching,
  ProviderSession,
  ProviderSessionFilter,
  Recognized,
} from '../model/identities.ts'
import type { Begun } from '../model/sessions.ts'
import type { Changed } from './people.ts'
import type { NewSession } from './sessions.ts'
import type { Part, Window } from './window.ts'

export type SubjectOf = Pick<Identity, 'provider' | 'subject'>
/** `taken`: by another eperson; `other-subject`: the eperson has another one at this provider. */
type Linked = Changed | 'taken' | 'other-subject'

/**
 * The data of single sign-on (docs/decisions/0010): the epersons that identities belong to, the providers at
 * which sessions began, and single-use tickets.
 */
export interface Identities {
  /** Returns what `recognize` would, without changing anything. */
  whoIs(identity: Identity, matching: Matching): Awaitable<Recognized>
  /** Finds, links or creates the eperson of an identity, and updates their names from it (X3). */
  recognize(identity: Identity, matching: Matching, event: AuditEvent): Promise<Recognized>
  /**
   * Begins a session that a provider vouched for.
   * @returns undefined if the eperson has been disabled, deleted or logged out since then
   */
  begin(login: ProviderLogin, event: AuditEvent): Promise<Begun | undefined>
  /** True if there is such a session. */
  isAtProvider(which: ProviderSessionFilter): Awaitable<boolean>
  /** Ends every token of the epersons who have such a session (T4). @returns the number of these epersons */
  endAtProvider(which: ProviderSessionFilter, event: AuditEvent): Promise<number>

  /** @param eperson a uuid; undefined: the identities of all */
  listIdentities(eperson?: string): Awaitable<readonly LinkedIdentity[]>
  /** A page of the identities of all epersons, by e-mail address and provider. */
  pageOfIdentities(window: Window): Awaitable<Part<LinkedIdentity>>
  /**
   * Links the eperson to a subject. Each eperson has at most one at a provider, and each subject one eperson.
   */
  link(email: string, subject: SubjectOf, event: AuditEvent): Promise<Linked>
  /** Unlinks the eperson from their subject, and ends their tokens, which another person may hold. */
  unlink(email: string, provider: string, event: AuditEvent): Promise<Changed>

  /** Removes the sessions at providers that began by then, as their sessions here have ended (T11). */
  forgetSessions(begunBy: Date): Promise<void>

  /**
   * Stores a ticket, and removes expired ones. All times are milliseconds since 1970.
   * @param certain a time that has certainly passed: tickets that expired by then are removed
   * @returns false if a ticket with this id exists already
   */
  keepTicket(id: string, content: string, expires: number, certain: number): Promise<boolean>
  /** @returns its content; undefined if there is no such ticket or it has expired */
  readTicket(id: string, now: number): Awaitable<string | undefined>
  /** Reads and removes a ticket that has not expired. Of all callers on all nodes, only one receives it. */
  takeTicket(id: string, now: number): Promise<string | undefined>
  /**
   * Replaces the content of a ticket, and the time at which it expires, even if it has expired.
   * @returns false if there is no such ticket with the content `before`
   */
  replaceTicket(id: string, before: string, content: string, expires: number): Promise<boolean>
}

export interface ProviderLogin {
  readonly uuid: string
  /** The session key at the time when the provider vouched. A logout since then has replaced it. */
  readonly sessionKey: Uint8Array
  readonly session: ProviderSession
  readonly begins: NewSession
}
