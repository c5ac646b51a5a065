import type { KeptSession, Session } from './accounts.ts'

/** Sessions of an eperson (docs/decisions/0040). All times are milliseconds since 1970. */

/**
 * Sessions that an active system-wide alert allows (docs/decisions/0053). `current`: only administrators can
 * log in, and existing sessions go on. `admin`: only administrators are logged in.
 */
const allowedSessions = ['all', 'current', 'admin'] as const
export type AllowedSessions = (typeof allowedSessions)[number]

/**
 * True if a caller with a session stays logged in while the alert is active. An administrator who acts on
 * behalf of an eperson counts as an administrator.
 */
export const isAllowed = (allowed: AllowedSessions, { session, acting, lacks }: Allowing): boolean =>
  allowed !== 'admin' || (session.administrator && lacks === undefined) || acting !== undefined

interface Allowing {
  readonly session: Pick<Session, 'administrator'>
  readonly acting?: unknown
  /** Set if the session lacks the second factor of administrators. */
  readonly lacks?: unknown
}

/** A session that a login has begun. */
export interface Begun {
  readonly session: Session
  readonly begun: number
}

/** Maximum number of sessions listed for an eperson. The least recently used are left out. */
export const maxSessions = 100
/** Maximum number of an eperson's sessions that are remembered as ended individually. */
export const maxEnded = 200
/** Maximum time in ms for which a lease outlives the token that opened it. */
const longestLease = 24 * 3600 * 1000
/**
 * Maximum time in ms by which a session's beginning may be later than its login. A longer shift means that
 * the clock was set back since the last session began.
 */
export const maxShift = 60_000

/** The content of `eperson.session_state`. */
interface State {
  readonly kept?: { readonly begun: number; readonly key: string; readonly under: string }
  /** Sessions that were ended individually, each with the time after which none of its tokens is valid. */
  readonly ended?: readonly (readonly [begun: number, until: number])[]
}

const inBase64 = (key: Uint8Array) => Buffer.from(key).toString('base64')
const stateIn = (text: string | null) => (text === null ? {} : (JSON.parse(text) as State))
const nothingEnded: ReadonlySet<number> = new Set()

/**
 * Returns the parts of the state that tokens are checked against.
 * @param sessionKey the eperson's session key, to which a kept session is bound
 */
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

/**
 * Returns the state after one session was ended.
 * @returns undefined if the list is full, so that all other sessions have to end
 */
export function stateWithout(
  text: string | null,
  { begun, expires }: { readonly begun: number; readonly expires: number },
  certain: number,
): string | undefined {
  const { ended = [], ...rest } = stateIn(text)
  const left = ended.filter(([, until]) => until > certain)
  if (left.length >= maxEnded) return undefined
  return JSON.stringify({ ...rest, ended: [...left, [begun, expires + longestLease]] } satisfies State)
}

/** Returns the state after a new session key ended all sessions but one. */
export const stateWithOnly = ({ begun, key }: KeptSession, newKey: Uint8Array): string =>
  JSON.stringify({ kept: { begun, key: inBase64(key), under: inBase64(newKey) } } satisfies State)

/** Returns the key that the tokens of a session are made with. */
export const keyOfSession = (
  { sessionKey, kept }: Pick<Session, 'sessionKey' | 'kept'>,
  begun: number,
): Uint8Array => (kept?.begun === begun ? kept.key : sessionKey)

/** True if a session that was verified with this key is still alive. */
export const isAlive = (
  session: Pick<Session, 'sessionKey' | 'kept' | 'ended'>,
  { begun, key }: KeptSession,
): boolean => !session.ended.has(begun) && Buffer.compare(keyOfSession(session, begun), key) === 0
