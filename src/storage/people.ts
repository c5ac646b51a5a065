import type { Awaitable } from '../lib/awaitable.ts'
import type { Client } from '../lib/fair-queue.ts'
import type { Eperson, Group, GroupDetails, KeptSession, Standing } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Part, Window } from './storage.ts'

/**
 * Epersons and groups, and groups in groups (contract sections 2, 6 and 7, docs/decisions/0039). Every change
 * is one transaction with its audit event. Commands name epersons by e-mail address and groups by name.
 * Changes by uuid are those of administrators over HTTP: what they have changed is added to the event, and
 * none of them leaves a store without an administrator who may log in.
 */
export interface People {
  /** Finds disabled epersons too. */
  eperson(uuid: string): Awaitable<Eperson | undefined>
  /** @param email in upper or lower case */
  credentials(email: string): Awaitable<Credentials | undefined>
  /** A page of the epersons that a search finds, by e-mail address. */
  findEpersons(search: EpersonSearch, window: Window, client: Client): Awaitable<Part<Eperson>>
  /** Facts about the accounts of these epersons, in any order. */
  standings(uuids: readonly string[]): Awaitable<readonly Standing[]>
  /** All epersons, for commands. No request reads them. */
  listEpersons(): Awaitable<readonly ListedEperson[]>
  listGroups(): Awaitable<readonly ListedGroup[]>
  /** @returns undefined when there is no such group */
  groupMembers(name: string): Awaitable<readonly Eperson[] | undefined>
  /** The groups with these ids, and everything that they are in. */
  groupsByUuid(uuids: readonly string[]): Awaitable<readonly Group[]>
  /** The groups with these names that exist, in any order. */
  groupsByName(names: readonly string[]): Awaitable<readonly Group[]>
  /** The groups with these names, in the order given. Missing ones are created. */
  ensureGroups(names: readonly string[]): Promise<readonly Group[]>

  addEperson(eperson: NewEperson, event: AuditEvent): Promise<Eperson | 'exists'>
  /** Ends the eperson's tokens (T6). */
  setEnabled(email: string, enabled: boolean, event: AuditEvent): Promise<Changed>
  /**
   * Ends the eperson's access tokens, and their login tokens (T6) except for those of the session that makes
   * the change.
   * @param checked the current password that was verified; if it was changed since then, the result is
   * `unchanged` and no event is recorded
   */
  setPassword(
    whose: OneEperson,
    passwordHash: string,
    event: AuditEvent,
    checked?: OwnPassword,
  ): Promise<Changed>
  deleteEperson(email: string, event: AuditEvent): Promise<Changed>
  addGroup(name: string, event: AuditEvent): Promise<Group | 'exists'>
  /**
   * Memberships, also as a special group, end at once on every node.
   * @returns the rules that name it, if any
   */
  deleteGroup(name: string, event: AuditEvent): Promise<'changed' | 'no-group' | GroupUse>
  join(group: string, email: string, event: AuditEvent): Promise<Changed | 'no-group'>
  leave(group: string, email: string, event: AuditEvent): Promise<Changed | 'no-group'>

  createEperson(eperson: NewPerson, event: AuditEvent): Promise<Eperson | 'exists'>
  /** A disabled eperson's tokens end (T6). */
  changeEperson(
    uuid: string,
    change: EpersonChange,
    event: AuditEvent,
  ): Promise<Eperson | 'no-eperson' | 'exists' | 'last-administrator'>
  removeEperson(uuid: string, event: AuditEvent): Promise<'changed' | 'no-eperson' | 'last-administrator'>

  /**
   * Removes the agreement of all epersons, so that DSpace's interface asks them again. Their sessions go on.
   * @returns the number of epersons who had agreed
   */
  resetAgreements(event: AuditEvent): Promise<number>

  /** True if `removeEperson` would remove them. */
  canRemoveEperson(uuid: string): Awaitable<boolean>
  /** True if `removeGroup` would remove it. */
  canRemoveGroup(uuid: string): Awaitable<boolean>

  group(uuid: string): Awaitable<GroupDetails | undefined>
  createGroup(group: NewGroup, event: AuditEvent): Promise<GroupDetails | 'exists'>
  /** @returns the rules that name the old name, if these prevent the change */
  changeGroup(
    uuid: string,
    change: GroupChange,
    event: AuditEvent,
  ): Promise<GroupDetails | 'no-group' | 'exists' | GroupUse>
  removeGroup(
    uuid: string,
    event: AuditEvent,
  ): Promise<'changed' | 'no-group' | 'last-administrator' | GroupUse>

  /** Adds an eperson to a group, or removes them. */
  setMember(
    isMember: boolean,
    group: string,
    eperson: string,
    event: AuditEvent,
  ): Promise<'changed' | 'unchanged' | 'no-group' | 'no-eperson' | 'last-administrator'>
  /** Adds a group to another, or removes it. Every eperson below it gets a new stamp. */
  setSubgroup(
    isIncluded: boolean,
    parent: string,
    child: string,
    event: AuditEvent,
  ): Promise<
    'changed' | 'unchanged' | 'no-group' | 'no-subgroup' | 'circle' | 'too-deep' | 'last-administrator'
  >

  /** Adds all of these to a group, in one change: all or none. */
  addMembers(
    group: string,
    epersons: readonly string[],
    event: AuditEvent,
  ): Promise<'changed' | 'no-group' | OneRefused<'no-eperson' | 'last-administrator'>>
  addSubgroups(
    parent: string,
    children: readonly string[],
    event: AuditEvent,
  ): Promise<
    'changed' | 'no-group' | OneRefused<'no-subgroup' | 'circle' | 'too-deep' | 'last-administrator'>
  >

  /** The groups and all that they are in, through any number of levels, current on every node. */
  withParents(groups: readonly Group[]): Awaitable<readonly Group[]>
  /** The groups that an eperson is in, through any number of levels, by name; also of a disabled one. */
  groupsOf(eperson: string): Awaitable<readonly GroupDetails[]>
  /**
   * Explains an eperson's groups: those that they are directly in, and the inclusions among these, `more` and
   * all groups above them, at most `maxInclusions`.
   * @param eperson null: none
   * @param more uuids of groups
   */
  membershipsOf(eperson: string | null, more: readonly string[]): Awaitable<Memberships>
  /** A page of the groups that a search finds, by name. */
  findGroups(search: GroupSearch, window: Window, client: Client): Awaitable<Part<GroupDetails>>
}

interface Memberships {
  /** Uuids of groups. */
  readonly direct: readonly string[]
  readonly inclusions: readonly { readonly child: string; readonly parent: string }[]
}

export const maxInclusions = 10_000

/** The one of several changes that was refused, so that none was made. */
export interface OneRefused<Why> {
  readonly why: Why
  readonly uuid: string
}

/** Maximum number of levels of groups below a group, itself included. */
export const maxLevels = 20

export interface NewPerson extends Omit<Eperson, 'uuid'> {
  /** In PHC string format; null: no password. */
  readonly passwordHash: string | null
}

/** The members that change. */
export interface EpersonChange {
  readonly email?: string
  readonly firstName?: string | null
  readonly lastName?: string | null
  readonly enabled?: boolean
  /** null removes the field. */
  readonly profile?: Readonly<Record<string, string | null>>
}

export interface NewGroup {
  readonly name: string
  readonly description: string | null
}

export type GroupChange = Partial<NewGroup>

export interface GroupSearch {
  /** Part of a name, or a whole uuid, in lower case; '' for all. */
  readonly text: string
  /** `is`: groups directly in this one; otherwise those neither in it nor this group itself. null: all. */
  readonly inside: Membership | null
}

/** An eperson by e-mail address, as commands name them, or by uuid. */
type OneEperson = { readonly email: string } | { readonly uuid: string }

export interface EpersonSearch {
  /** Part of a name or of an e-mail address, or a whole uuid, in lower case; '' for all. */
  readonly text: string
  /** null: all. */
  readonly membership: Membership | null
}

/** A condition: being directly in a group, or not. */
interface Membership {
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
  /** True if a second factor is enrolled. */
  readonly hasFactor: boolean
  /** Whatever ends all sessions replaces it. */
  readonly sessionKey: Uint8Array
}

/** The password that was verified, as `credentials` returned it. */
export type VerifiedPassword = Pick<Credentials, 'uuid' | 'passwordStamp'>

/** The verified password of an eperson who changes their own. */
interface OwnPassword extends VerifiedPassword {
  /** The session that makes the change, and stays; undefined: none does. */
  readonly own?: KeptSession
}

interface NewEperson extends Omit<NewPerson, 'enabled' | 'profile'> {
  readonly administrator: boolean
}

interface ListedEperson extends Eperson {
  readonly groups: readonly string[]
}

interface ListedGroup extends Group {
  readonly members: number
}

/** Access rules that name a group. They use its name, so a new group of that name would be let in. */
export interface GroupUse {
  readonly entities: readonly string[]
  readonly items: number
  readonly bitstreams: number
}
