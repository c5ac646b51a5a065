import type { KeptSession, LoginMethod, Session } from './accounts.ts'

/** Sessions of an eperson (docs/decisions/0040). All times are milliseconds since 1970. */

/**
 * Whose sessions an active system-wide alert allows (docs/decisions/0053). `current`: only administrators log in, and
 * who has logged in already goes on. `admin`: nobody else is logged in.
 */
export const allowedSessions = ['all', 'current', 'admin'] as const
export type AllowedSessions = (typeof allowedSessions)[number]

/** Whether somebody who has logged in is, as long as the alert is active. Administrators who act as somebody are themselves. */
export const isAllowed = (
  allowed: AllowedSessions,
  { session, acting }: { readonly session: Pick<Session, 'administrator'>; readonly acting?: unknown },
): boolean => allowed !== 'admin' || session.administrator || acting !== undefined

/** A session that a login begins. */
export interface NewSession {
  /** Now. The store may move it by some milliseconds, so that no two sessions of an eperson begin at the same time. */
  readonly begun: number
  /** When its token expires. */
  readonly expires: number
}

/** A session that a login has begun. */
export interface Begun {
  readonly session: Session
  readonly begun: number
}

/** A session as its eperson sees it. */
export interface ListedSession {
  readonly begun: number
  readonly method: LoginMethod
  /** Where the login came from; null: the command line, or not known. */
  readonly network: string | null
  /** The last login or refresh. */
  readonly used: number
  readonly usedNetwork: string | null
  /** Of the token that lives the longest. */
  readonly expires: number
}

/** How many sessions of an eperson are listed; those that were used longest ago are left out. */
export const maxSessions = 100
/** How many sessions of an eperson stand on the list of those that were ended by themselves. */
export const maxEnded = 200
/** In ms: how long a lease lives at most after the token that opened it. */
const longestLease = 24 * 3600 * 1000
/** In ms. A session begins so much later than its login at most; otherwise the clock was set back since the last one. */
export const maxShift = 60_000

/** `eperson.session_state`. */
interface State {
  readonly kept?: { readonly begun: number; readonly key: string; readonly under: string }
  /** Each with the time from which on no token of it is alive. */
  readonly ended?: readonly (readonly [begun: number, until: number])[]
}

const inBase64 = (key: Uint8Array) => Buffer.from(key).toString('base64')
const stateIn = (text: string | null) => (text === null ? {} : (JSON.parse(text) as State))
const nothingEnded: ReadonlySet<number> = new Set()

/** What the state means for tokens. @param sessionKey the eperson's, to which a kept session is bound */
export function readState(
  text: string | null,
  sessionKey: Uint8Array,
): { readonly kept: KeptSession | null; readonly ended: ReadonlySet<number> } {
  const { kept, ended } = stateIn(text)
  return {
    kept:
      kept && kept.under === inBase64(sessionKey)
        ? { begun: kept.begun, key: Buffer.from(kept.key, 'base64') }
        : null,
    ended: ended ? new Set(ended.map(([begun]) => begun)) : nothingEnded,
  }
}

/** The state after one session was ended. @returns undefined if the list is full, so that all others have to end */
export function stateWithout(
  text: string | null,
  { begun, expires }: Pick<ListedSession, 'begun' | 'expires'>,
  certain: number,
): string | undefined {
  const { ended = [], ...rest } = stateIn(text)
  const left = ended.filter(([, until]) => until > certain)
  if (left.length >= maxEnded) return undefined
  return JSON.stringify({ ...rest, ended: [...left, [begun, expires + longestLease]] } satisfies State)
}

/** The state after all sessions but one were ended by a new session key. */
export const stateWithOnly = ({ begun, key }: KeptSession, newKey: Uint8Array): string =>
  JSON.stringify({ kept: { begun, key: inBase64(key), under: inBase64(newKey) } } satisfies State)

/** What the tokens of a session are made with. */
export const keyOfSession = (
  { sessionKey, kept }: Pick<Session, 'sessionKey' | 'kept'>,
  begun: number,
): Uint8Array => (kept?.begun === begun ? kept.key : sessionKey)

/** Whether a session that was verified with this key is still alive. */
export const isAlive = (
  session: Pick<Session, 'sessionKey' | 'kept' | 'ended'>,
  { begun, key }: KeptSession,
): boolean => !session.ended.has(begun) && Buffer.compare(keyOfSession(session, begun), key) === 0
