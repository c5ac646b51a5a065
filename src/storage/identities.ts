import type { Awaitable } from '../lib/awaitable.ts'
import type { Session } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type {
  Identity,
  LinkedIdentity,
  Matching,
  ProviderLogin,
  ProviderSessionFilter,
  Recognized,
} from '../model/identities.ts'
import type { Changed } from './accounts.ts'

/**
 * What single sign-on keeps (docs/decisions/0010): who an identity is here, which sessions began at which provider, and
 * tickets, which open one door once.
 */
export interface Identities {
  /** Whom `recognize` would find, without changing anything. */
  whoIs(identity: Identity, matching: Matching): Awaitable<Recognized>
  /** Finds, links or creates the eperson of an identity, and takes over its names (X3). */
  recognize(identity: Identity, matching: Matching, event: AuditEvent): Promise<Recognized>
  /**
   * A session begins that a provider vouched for.
   * @returns undefined when the eperson was disabled, deleted or logged out since
   */
  begin(login: ProviderLogin, event: AuditEvent): Promise<Session | undefined>
  /** Ends every token of whoever has such a session (T4). @returns how many epersons that were */
  endAtProvider(which: ProviderSessionFilter, event: AuditEvent): Promise<number>

  listIdentities(): Awaitable<readonly LinkedIdentity[]>
  /** The subject is nobody's again; tokens of the eperson end, which may have been somebody else's. */
  unlink(email: string, provider: string, event: AuditEvent): Promise<Changed>

  /** @param expires milliseconds since 1970 @returns false when there is one of this id: it was used before */
  keepTicket(id: string, content: string, expires: number): Promise<boolean>
  /** @returns its content; undefined when there is none, or it has expired */
  readTicket(id: string): Awaitable<string | undefined>
  /** Reads it and removes it: of any number of callers, on any number of nodes, one gets it. */
  takeTicket(id: string): Promise<string | undefined>
}
