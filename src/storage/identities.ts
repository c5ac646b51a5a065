import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type {
  Identity,
  LinkedIdentity,
  Matching,
  ProviderLogin,
  ProviderSessionFilter,
  Recognized,
} from '../model/identities.ts'
import type { Begun } from '../model/sessions.ts'
import type { Changed } from './people.ts'
import type { Part, Window } from './window.ts'

export type SubjectOf = Pick<Identity, 'provider' | 'subject'>
/** `taken`: by another eperson; `other-subject`: the eperson has another one at this provider. */
export type Linked = Changed | 'taken' | 'other-subject'

/**
 * The data of single sign-on (docs/decisions/0010): which eperson an identity is, which sessions began at which provider,
 * and single-use tickets.
 */
export interface Identities {
  /** What `recognize` would return, without changing anything. */
  whoIs(identity: Identity, matching: Matching): Awaitable<Recognized>
  /** Finds, links or creates the eperson of an identity, and updates their names from it (X3). */
  recognize(identity: Identity, matching: Matching, event: AuditEvent): Promise<Recognized>
  /**
   * Begins a session that a provider vouched for.
   * @returns undefined if the eperson has been disabled, deleted or logged out since then
   */
  begin(login: ProviderLogin, event: AuditEvent): Promise<Begun | undefined>
  /** Whether anybody has such a session, without changing anything. */
  isAtProvider(which: ProviderSessionFilter): Awaitable<boolean>
  /** Ends every token of the epersons who have such a session (T4). @returns how many epersons had one */
  endAtProvider(which: ProviderSessionFilter, event: AuditEvent): Promise<number>

  /** @param eperson a UUID: only theirs */
  listIdentities(eperson?: string): Awaitable<readonly LinkedIdentity[]>
  /** Of all epersons, in the same order. */
  pageOfIdentities(window: Window): Awaitable<Part<LinkedIdentity>>
  /** Links the eperson to a subject. Nobody has two subjects at a provider, and no subject is two epersons. */
  link(email: string, subject: SubjectOf, event: AuditEvent): Promise<Linked>
  /** Unlinks the eperson from their subject, and ends their tokens, which another person may hold. */
  unlink(email: string, provider: string, event: AuditEvent): Promise<Changed>

  /** Removes the sessions at providers that began by then, as their sessions here have ended (T11). */
  forgetSessions(begunBy: Date): Promise<void>

  /**
   * Removes old ones, too. All times are milliseconds since 1970.
   * @param certain by when others have certainly expired
   * @returns false if a ticket with this id exists already
   */
  keepTicket(id: string, content: string, expires: number, certain: number): Promise<boolean>
  /** @returns its content; undefined if there is no such ticket or it has expired */
  readTicket(id: string, now: number): Awaitable<string | undefined>
  /** Reads and removes a ticket that has not expired. Of any number of callers on any number of nodes, only one receives it. */
  takeTicket(id: string, now: number): Promise<string | undefined>
}
