import type { ApiPart, Grant, ScopeMethod } from './access-tokens.ts'
import type { Group, LoginMethod, Session } from './accounts.ts'

/**
 * The caller of a request (contract sections 5 and 6). Authentication makes a `Caller`;
 * every feature only reads it.
 */

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
  /** Beginning of the session in ms since 1970. For an acting administrator, that of their own session. */
  readonly begun: number
  /** Expiry of the token in ms since 1970. */
  readonly ends: number
  readonly specialGroups: readonly Group[]
  /** The scope of the caller's access token; undefined for a caller who has logged in. */
  readonly grant?: Grant
}

/** An administrator whose request is processed as another eperson (B1–B4). */
export interface Acting extends Omit<Authenticated, 'kind'> {
  readonly kind: 'acting'
  /** The administrator's session when it was verified. Tokens issued while acting end with it. */
  readonly actor: Session
  readonly reason: string | null
}

export type Caller = Anonymous | Authenticated | Acting

/**
 * Returns the sessions that the caller's rights come from: their own, and that of the
 * administrator who acts as them.
 */
export const sessionsOf = (caller: Authenticated | Acting): readonly Session[] =>
  caller.kind === 'acting' ? [caller.session, caller.actor] : [caller.session]

/** True for an administrator, except while they act on behalf of someone (B3). */
export const isAdministrator = (caller: Caller): boolean =>
  caller.kind === 'eperson' && caller.session.administrator

/** True if the caller is a member of the group or has it as a special group (section 6). */
export const isMember = (caller: Caller, group: string): boolean =>
  caller.specialGroups.some(one => one.name === group) ||
  (caller.kind !== 'anonymous' && caller.session.groups.some(one => one.name === group))

/** Returns the grant of the caller's access token, if they use one (docs/decisions/0040). */
export const grantOf = (caller: Caller): Grant | undefined =>
  caller.kind === 'anonymous' ? undefined : caller.grant

/** True unless the caller's access token excludes this entity of the query endpoints. */
export const mayUseEntity = (caller: Caller, name: string): boolean =>
  grantOf(caller)?.scope.entities?.includes(name) ?? true

/** True unless the caller's access token excludes this method in this part of the API. */
export function mayUsePart(caller: Caller, part: ApiPart, method: ScopeMethod): boolean {
  const scope = grantOf(caller)?.scope
  return scope === undefined || (scope.parts.includes(part) && scope.methods.includes(method))
}
