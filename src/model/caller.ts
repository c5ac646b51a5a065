import type { ApiPart, Grant, ScopeMethod } from './access-tokens.ts'
import type { Group, LoginMethod, Session } from './accounts.ts'

/** Who is asking (contract sections 5 and 6). Authentication makes a `Caller`; every feature only reads it. */

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
  /** When the token expires, in ms since 1970. */
  readonly ends: number
  readonly specialGroups: readonly Group[]
  /** What the caller's access token may do; undefined for somebody who has logged in. */
  readonly grant?: Grant
}

/** An administrator whose request is processed as another eperson (B1–B4). */
export interface Acting extends Omit<Authenticated, 'kind'> {
  readonly kind: 'acting'
  /** The administrator's session when it was verified. What is issued in it ends with it. */
  readonly actor: Session
  readonly reason: string | null
}

export type Caller = Anonymous | Authenticated | Acting

/** The sessions that the caller's rights come from: theirs, and that of the administrator who acts as them. */
export const sessionsOf = (caller: Authenticated | Acting): readonly Session[] =>
  caller.kind === 'acting' ? [caller.session, caller.actor] : [caller.session]

/** Administrator rights are dropped while acting on behalf of someone (B3). */
export const isAdministrator = (caller: Caller): boolean =>
  caller.kind === 'eperson' && caller.session.administrator

/** Member of the group by membership or as a special group (section 6). */
export const isMember = (caller: Caller, group: string): boolean =>
  caller.specialGroups.some(one => one.name === group) ||
  (caller.kind !== 'anonymous' && caller.session.groups.some(one => one.name === group))

/** What an access token may do, if the caller has one (docs/decisions/0040). */
export const grantOf = (caller: Caller): Grant | undefined =>
  caller.kind === 'anonymous' ? undefined : caller.grant

/** Whether the caller's access token, if they have one, is for this entity of the query endpoints. */
export const mayUseEntity = (caller: Caller, name: string): boolean =>
  grantOf(caller)?.scope.entities?.includes(name) ?? true

/** Whether the caller's access token, if they have one, is for this method in this part of the API. */
export function mayUsePart(caller: Caller, part: ApiPart, method: ScopeMethod): boolean {
  const scope = grantOf(caller)?.scope
  return scope === undefined || (scope.parts.includes(part) && scope.methods.includes(method))
}
