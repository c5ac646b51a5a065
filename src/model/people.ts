import type { Awaitable } from '../lib/awaitable.ts'
import type { Eperson, Group, GroupDetails, KeptSession } from './accounts.ts'

/** The reads of epersons and groups that rooms below `people` depend on; the store's `people` has them all. */
export interface Accounts {
  /** Finds disabled epersons too. */
  eperson(uuid: string): Awaitable<Eperson | undefined>
  /** @param email in upper or lower case */
  credentials(email: string): Awaitable<Credentials | undefined>
  group(uuid: string): Awaitable<GroupDetails | undefined>
  /** The groups with these names that exist, in any order. */
  groupsByName(names: readonly string[]): Awaitable<readonly Group[]>
  /** The groups with these ids, and everything that they are in. */
  groupsByUuid(uuids: readonly string[]): Awaitable<readonly Group[]>
  /** The groups with these names, in the order given. Missing ones are created. */
  ensureGroups(names: readonly string[]): Promise<readonly Group[]>
}

export interface Memberships {
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
export type OneEperson = { readonly email: string } | { readonly uuid: string }

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
export interface OwnPassword extends VerifiedPassword {
  /** The session that makes the change, and stays; undefined: none does. */
  readonly own?: KeptSession
}

export interface NewEperson extends Omit<NewPerson, 'enabled' | 'profile'> {
  readonly administrator: boolean
}

export interface ListedEperson extends Eperson {
  readonly groups: readonly string[]
}

export interface ListedGroup extends Group {
  readonly members: number
}

/** Access rules that name a group. They use its name, so a new group of that name would be let in. */
export interface GroupUse {
  readonly entities: readonly string[]
  readonly items: number
  readonly bitstreams: number
}
