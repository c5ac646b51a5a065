import type { Group, LoginMethod, Session } from './accounts.ts'

/** Who is asking (contract sections 4 and 5). Authentication makes a `Caller`; every feature only reads it. */

export interface Anonymous {
  readonly kind: 'anonymous'
  readonly specialGroups: readonly Group[]
}

export interface Authenticated {
  readonly kind: 'eperson'
  readonly session: Session
  readonly method: LoginMethod
  /** The ids in the token's claim `sg`: the special groups that the login granted (G2). */
  readonly sg: readonly string[]
  /** When the session began, in ms since 1970. That of an administrator who acts is theirs. */
  readonly begun: number
  readonly specialGroups: readonly Group[]
}

/** An administrator whose request is processed as another eperson (B1–B4). */
export interface Acting extends Omit<Authenticated, 'kind'> {
  readonly kind: 'acting'
  /** The administrator's session when it was verified. What is issued in it ends with it. */
  readonly actor: Session
  readonly reason: string | null
}

export type Caller = Anonymous | Authenticated | Acting

/** Administrator rights are dropped while acting on behalf of someone (B3). */
export const isAdministrator = (caller: Caller): boolean =>
  caller.kind === 'eperson' && caller.session.administrator

/** Member of the group by membership or as a special group (section 5). */
export const isMember = (caller: Caller, group: string): boolean =>
  caller.specialGroups.some(one => one.name === group) ||
  (caller.kind !== 'anonymous' && caller.session.groups.some(one => one.name === group))
