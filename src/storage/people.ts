import type { Awaitable } from '../lib/awaitable.ts'
import type { Client } from '../lib/fair-queue.ts'
import type { Eperson, Group, GroupDetails, Profile } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { GroupUse } from './accounts.ts'
import type { Part, Window } from './window.ts'

/**
 * Epersons and groups as administrators change them over HTTP, and groups in groups (contract section 7,
 * docs/decisions/0039). Every change is one transaction with its audit event; what it has changed is added to the event.
 * Nothing here leaves a store without an administrator who may log in.
 */
export interface People {
  createEperson(eperson: NewPerson, event: AuditEvent): Promise<Eperson | 'exists'>
  /** A disabled eperson's tokens end (T6). */
  changeEperson(
    uuid: string,
    change: EpersonChange,
    event: AuditEvent,
  ): Promise<Eperson | 'no-eperson' | 'exists' | 'last-administrator'>
  /** Ends the eperson's tokens (T6). */
  replacePassword(uuid: string, hash: string, event: AuditEvent): Promise<'changed' | 'no-eperson'>
  removeEperson(uuid: string, event: AuditEvent): Promise<'changed' | 'no-eperson' | 'last-administrator'>

  /**
   * Takes their agreement from all epersons, so that DSpace's interface asks them again. Their sessions go on.
   * @returns how many had one
   */
  resetAgreements(event: AuditEvent): Promise<number>

  /** Whether `removeEperson` would. */
  canRemoveEperson(uuid: string): Awaitable<boolean>
  /** Whether `removeGroup` would. */
  canRemoveGroup(uuid: string): Awaitable<boolean>

  group(uuid: string): Awaitable<GroupDetails | undefined>
  createGroup(group: NewGroup, event: AuditEvent): Promise<GroupDetails | 'exists'>
  /** @returns where the old name is named, if it can't change because of that */
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
  /** Adds a group to another, or removes it. Everybody below it gets a new stamp. */
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

  /** The groups with everything that they are in, through any number of levels. As it is at this moment, on every node. */
  withParents(groups: readonly Group[]): Awaitable<readonly Group[]>
  /** The groups that an eperson is in, through any number of levels, by name; also of a disabled one. */
  groupsOf(eperson: string): Awaitable<readonly GroupDetails[]>
  /**
   * How an eperson comes to their groups: those that they are directly in, and of all that these and some more are in, which
   * is in which. At most `maxInclusions` of those.
   * @param eperson null: nobody
   * @param more uuids of groups
   */
  membershipsOf(eperson: string | null, more: readonly string[]): Awaitable<Memberships>
  /** By name. */
  findGroups(search: GroupSearch, window: Window, client: Client): Awaitable<Part<GroupDetails>>
}

export interface Memberships {
  /** Uuids of groups. */
  readonly direct: readonly string[]
  readonly inclusions: readonly { readonly child: string; readonly parent: string }[]
}

export const maxInclusions = 10_000

/** The one of several for which nothing was changed. */
export interface OneRefused<Why> {
  readonly why: Why
  readonly uuid: string
}

/** How many levels of groups there may be below a group, itself included. */
export const maxLevels = 20

export interface NewPerson {
  readonly email: string
  /** In PHC string format; null: no password. */
  readonly passwordHash: string | null
  readonly firstName: string | null
  readonly lastName: string | null
  readonly enabled: boolean
  readonly profile: Profile
}

/** Only what changes. */
export interface EpersonChange {
  readonly email?: string
  readonly firstName?: string | null
  readonly lastName?: string | null
  readonly enabled?: boolean
  /** null: the field goes. */
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
  /** Only those that are directly in this group, or are neither in it nor this group itself; null: all. */
  readonly inside: { readonly group: string; readonly is: boolean } | null
}
