import type { Awaitable } from '../lib/awaitable.ts'
import type { Client } from '../lib/fair-queue.ts'
import type { Eperson, Group, KeptSession, Session } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { ProviderSession } from '../model/identities.ts'
import type { AllowedSessions, Begun, NewSession } from '../model/sessions.ts'
import type { Part, Window } from './window.ts'

/** Epersons, groups and their sessions, as every engine implements them (contract sections 2, 5 and 6). */
export interface Accounts {
  /** The stamp of an enabled eperson; undefined if there is none. Looked up on every authenticated request. */
  stampOf(uuid: string): Awaitable<number | undefined>
  /** undefined: no such eperson, or they are disabled. */
  session(uuid: string): Awaitable<Session | undefined>
  /** Whose sessions the system-wide alert allows. It is as fresh as the last answer of `stampOf` or `session`, which read it. */
  allowedSessions(): AllowedSessions
  /** Finds disabled epersons too. */
  eperson(uuid: string): Awaitable<Eperson | undefined>
  /** @param email in upper or lower case */
  credentials(email: string): Awaitable<Credentials | undefined>
  /** The groups with these ids, and everything that they are in. */
  groupsByUuid(uuids: readonly string[]): Awaitable<readonly Group[]>
  /** Those of these groups that there are, in any order. */
  groupsByName(names: readonly string[]): Awaitable<readonly Group[]>
  /** The groups with these names, in the order given. Missing ones are created. */
  ensureGroups(names: readonly string[]): Promise<readonly Group[]>

  /**
   * Records a login with a correct password, begins a session, and stores the renewed hash if there is one.
   * @returns the session to issue the token for; undefined if the eperson was disabled or deleted, or their password
   *   was changed, since `credentials` was read
   */
  recordLogin(login: Login, event: AuditEvent): Promise<Begun | undefined>
  /** Replaces the session key, which ends every token of the eperson (T4). @returns their latest provider session */
  logout(uuid: string, event: AuditEvent): Promise<ProviderSession | undefined>
  recordEvent(event: AuditEvent): Promise<void>

  addEperson(eperson: NewEperson, event: AuditEvent): Promise<Eperson | 'exists'>
  /** Ends the eperson's tokens (T6). */
  setEnabled(email: string, enabled: boolean, event: AuditEvent): Promise<Changed>
  /**
   * Ends the eperson's tokens (T6), but for those of the session that makes the change, and their access tokens.
   * @param checked the current password that was verified; if it was changed since then, the result is `unchanged` and
   *   no event is recorded
   */
  setPassword(email: string, passwordHash: string, event: AuditEvent, checked?: OwnPassword): Promise<Changed>
  deleteEperson(email: string, event: AuditEvent): Promise<Changed>
  addGroup(name: string, event: AuditEvent): Promise<Group | 'exists'>
  /** Memberships, also as a special group, end at once on every node. @returns where it is named, when it is in use */
  deleteGroup(name: string, event: AuditEvent): Promise<'changed' | 'no-group' | GroupUse>
  join(group: string, email: string, event: AuditEvent): Promise<Changed | 'no-group'>
  leave(group: string, email: string, event: AuditEvent): Promise<Changed | 'no-group'>
  /** The epersons that a search finds, by e-mail address. */
  findEpersons(search: EpersonSearch, window: Window, client: Client): Awaitable<Part<Eperson>>
  /** All of them, for commands: no request reads them. */
  listEpersons(): Awaitable<readonly ListedEperson[]>
  listGroups(): Awaitable<readonly ListedGroup[]>
  /** @returns undefined when there is no such group */
  groupMembers(name: string): Awaitable<readonly Eperson[] | undefined>
}

/** What is about who is logged in: each engine has its own way to keep that at hand. */
export type Logins = Pick<
  Accounts,
  'stampOf' | 'session' | 'allowedSessions' | 'recordLogin' | 'logout' | 'recordEvent'
>

export interface EpersonSearch {
  /** Part of a name or of an e-mail address, or a whole uuid, in lower case; '' for everybody. */
  readonly text: string
  /** null: all. */
  readonly membership: Membership | null
}

/** Only those who are in this group, or are not. */
export interface Membership {
  readonly group: string
  readonly is: boolean
}

export type Changed = 'changed' | 'unchanged' | 'no-eperson'

export interface Credentials {
  readonly uuid: string
  readonly enabled: boolean
  /** In PHC string format; null: the account has no password. */
  readonly passwordHash: string | null
  /** Changes with the password. */
  readonly passwordStamp: number
}

/** The password that was verified, as `credentials` returned it. */
export type VerifiedPassword = Pick<Credentials, 'uuid' | 'passwordStamp'>

/** The same of somebody who changes their own. */
export interface OwnPassword extends VerifiedPassword {
  /** The session that makes the change, and stays; undefined: none does. */
  readonly own?: KeptSession
}

export interface Login extends VerifiedPassword {
  readonly begins: NewSession
  /** A hash with the current parameters, if the stored one has weaker ones. */
  readonly renewedHash: string | null
}

export interface NewEperson {
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly passwordHash: string | null
  readonly administrator: boolean
}

export interface ListedEperson extends Eperson {
  readonly groups: readonly string[]
}

export interface ListedGroup extends Group {
  readonly members: number
}

/** Where access rules name a group. They name it by its name, so a new group of that name would be let in. */
export interface GroupUse {
  readonly entities: readonly string[]
  readonly items: number
  readonly bitstreams: number
}
