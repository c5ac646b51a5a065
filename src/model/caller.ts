import { memo } from '../lib/memo.ts'
import type { ApiPart, Grant, ScopeMethod } from './access-tokens.ts'
import { administratorGroup, type Group, type LoginMethod, type Session } from './accounts.ts'
import type { FactorLack } from './factors.ts'
import { admits, admitsWriter, type Readers, today, type Viewer } from './readers.ts'

/**
 * The caller of a request (contract sections 5 and 6). Authentication makes a `Caller`;
 * every feature only reads it.
 */

interface Anonymous {
  readonly kind: 'anonymous'
  /** Set if the request has a valid token, whose session lacks a second factor that everybody must have (L17). */
  readonly lacks?: FactorLack
  readonly specialGroups: readonly Group[]
}

export interface Authenticated {
  readonly kind: 'eperson'
  readonly session: Session
  readonly method: LoginMethod
  /** True if a factor was proved after a provider or a directory had vouched. */
  readonly proved?: true
  /** Set if the session lacks a second factor that administrators must have: it has no right of theirs (L17). */
  readonly lacks?: FactorLack
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
  caller.kind === 'eperson' && caller.session.administrator && caller.lacks === undefined

/** The caller's groups, without the one of which they lack the right. */
const groupsOf = ({ session, lacks }: Authenticated | Acting): readonly Group[] =>
  lacks === undefined ? session.groups : session.groups.filter(({ name }) => name !== administratorGroup)

/** True if the caller is a member of the group or has it as a special group (section 6). */
export const isMember = (caller: Caller, group: string): boolean =>
  caller.specialGroups.some(one => one.name === group) ||
  (caller.kind !== 'anonymous' && groupsOf(caller).some(one => one.name === group))

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

/**
 * Returns the viewer for a caller. While acting on behalf of an eperson, that is the eperson,
 * without administrator rights (B3). A caller stays the same object until something about it
 * changes, so its viewer can be memoized.
 */
export const viewerOf = memo(
  (caller: Caller): Viewer =>
    isAdministrator(caller)
      ? { kind: 'administrator' }
      : caller.kind === 'anonymous'
        ? readerOf(null, [], caller.specialGroups)
        : readerOf(caller.session, groupsOf(caller), caller.specialGroups),
)

/** True if these readers currently admit the caller. */
export const mayRead = (caller: Caller, readers: Readers): boolean =>
  admits(readers, viewerOf(caller), today())

/** True if these readers of an item currently let the caller change it. */
export const mayWrite = (caller: Caller, readers: Readers): boolean =>
  admitsWriter(readers, viewerOf(caller), today())

/** Returns the viewer for an eperson other than the caller. Their special groups are unknown. */
export const viewerOfSession = (session: Session | undefined): Viewer =>
  session?.administrator ? { kind: 'administrator' } : readerOf(session ?? null, session?.groups ?? [], [])

const readerOf = (
  session: Session | null,
  groups: readonly Group[],
  specialGroups: readonly Group[],
): Viewer => ({
  kind: 'reader',
  eperson: session?.eperson.uuid ?? null,
  groups: new Set([...groups, ...specialGroups].map(({ name }) => name)),
})
