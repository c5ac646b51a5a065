import type { Awaitable } from '../lib/awaitable.ts'
import type { Eperson, Group, Session } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { ProviderSession } from '../model/identities.ts'

/** What every engine does with epersons, groups and their sessions (contract sections 2, 4 and 5). */
export interface Accounts {
  /** The stamp of an enabled eperson; undefined when there is none. Asked on every authenticated request. */
  stampOf(uuid: string): Awaitable<number | undefined>
  /** undefined: no such eperson, or it is disabled. */
  session(uuid: string): Awaitable<Session | undefined>
  /** Also when it is disabled. */
  eperson(uuid: string): Awaitable<Eperson | undefined>
  /** @param email in any case */
  credentials(email: string): Awaitable<Credentials | undefined>
  groupsByUuid(uuids: readonly string[]): Awaitable<readonly Group[]>
  /** The groups of these names, created where they don't exist, in the order given. */
  ensureGroups(names: readonly string[]): Promise<readonly Group[]>

  /**
   * A password was right: keep the event and, if given, the renewed hash.
   * @returns the session to make the token with; undefined when the eperson was disabled or deleted or its
   *   password changed since `credentials` was read
   */
  recordLogin(login: Login, event: AuditEvent): Promise<Session | undefined>
  /** Replaces the session key: every token of the eperson ends (T4). @returns the last session that began at a provider */
  logout(uuid: string, event: AuditEvent): Promise<ProviderSession | undefined>
  recordEvent(event: AuditEvent): Promise<void>

  addEperson(eperson: NewEperson, event: AuditEvent): Promise<Eperson | 'exists'>
  /** Ends the eperson's tokens when it disables (T6). */
  setEnabled(email: string, enabled: boolean, event: AuditEvent): Promise<Changed>
  /**
   * Ends the eperson's tokens (T6).
   * @param checked the password that was asked for before; `unchanged`, and no event, when it is another one by now
   */
  setPassword(email: string, passwordHash: string, event: AuditEvent, checked?: Checked): Promise<Changed>
  deleteEperson(email: string, event: AuditEvent): Promise<Changed>
  addGroup(name: string, event: AuditEvent): Promise<Group | 'exists'>
  join(group: string, email: string, event: AuditEvent): Promise<Changed | 'no-group'>
  leave(group: string, email: string, event: AuditEvent): Promise<Changed | 'no-group'>
  listEpersons(): Awaitable<readonly ListedEperson[]>
  listGroups(): Awaitable<readonly ListedGroup[]>
}

export type Changed = 'changed' | 'unchanged' | 'no-eperson'

export interface Credentials {
  readonly uuid: string
  readonly enabled: boolean
  /** In PHC string format; null: an account without a password. */
  readonly passwordHash: string | null
  /** Another one when the password was changed. */
  readonly passwordStamp: number
}

/** As `credentials` gave it: the password that was checked. */
export type Checked = Pick<Credentials, 'uuid' | 'passwordStamp'>

export interface Login extends Checked {
  /** With today's parameters, when the old one had weaker ones. */
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
