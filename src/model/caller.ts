import { Problem } from '../http/problems.ts'

/** Who is asking (contract sections 4 and 5). Authentication makes a `Caller`; every feature only reads it. */

export interface Group {
  readonly uuid: string
  readonly name: string
}

export interface Eperson {
  readonly uuid: string
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly enabled: boolean
}

/** How a session began: `password`, or the scheme of a single sign-on provider, such as `shibboleth` or `oidc`. */
export type LoginMethod = string
export const passwordMethod: LoginMethod = 'password'

/** An eperson as it stands in the store at this moment, with what its tokens are checked against. */
export interface Session {
  readonly eperson: Eperson
  readonly administrator: boolean
  /** Groups that the eperson is a member of; special groups are not among them. */
  readonly groups: readonly Group[]
  /** 32 random bytes; replaced at logout, which ends every token made with the old ones (T4). */
  readonly sessionKey: Uint8Array
  /** Changes with every change to the eperson, so that what was derived from it can be remembered. */
  readonly stamp: number
}

export interface Anonymous {
  readonly kind: 'anonymous'
  readonly specialGroups: readonly Group[]
}

export interface Authenticated {
  readonly kind: 'eperson'
  readonly session: Session
  readonly method: LoginMethod
  /** The ids in the token's claim `sg`: what the way of logging in gave (G2). */
  readonly sg: readonly string[]
  readonly specialGroups: readonly Group[]
}

/** An administrator whose request is processed as another eperson (B1–B4). */
export interface Acting extends Omit<Authenticated, 'kind'> {
  readonly kind: 'acting'
  /** As it was verified: if it has ended meanwhile, so has what is made in it. */
  readonly actor: Session
  readonly reason: string | null
}

export type Caller = Anonymous | Authenticated | Acting

export const administratorGroup = 'Administrator'

/** Administrator rights are dropped while acting on behalf of someone (B3). */
export const isAdministrator = (caller: Caller): boolean =>
  caller.kind === 'eperson' && caller.session.administrator

/** Member of the group by membership or as a special group (section 5). */
export const isMember = (caller: Caller, group: string): boolean =>
  caller.specialGroups.some(one => one.name === group) ||
  (caller.kind !== 'anonymous' && caller.session.groups.some(one => one.name === group))

/** @throws Problem 401 for anonymous */
export function requireEperson(caller: Caller): Exclude<Caller, { kind: 'anonymous' }> {
  if (caller.kind === 'anonymous')
    throw new Problem(
      'authentication-required',
      'Authentication is required: no valid token came with the request.',
    )
  return caller
}
