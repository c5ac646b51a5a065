import { randomBytes } from 'node:crypto'
import type { Awaitable } from '../../lib/awaitable.ts'
import type { KeptSession, Session } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { ProviderSession } from '../../model/identities.ts'
import type { VerifiedPassword } from '../../model/people.ts'
import {
  type AllowedSessions,
  type Begun,
  isAlive,
  readState,
  stateWithOnly,
  stateWithout,
} from '../../model/sessions.ts'
import { session } from '../schema/sessions.ts'
import { columnsOf, type NewRow, type RowOf } from '../schema/table.ts'
import type { Change, Offered, Read } from './statements.ts'
import * as db from './statements.ts'

/** Sessions (docs/decisions/0040). Logins, refreshes and logouts are in `hot.ts` of each engine. */
export const sessions = {
  reads: {
    /** The eperson's sessions that may be alive, newest first. */
    *list({ eperson, sessionKey, ended }: Session): Read<readonly ListedSession[]> {
      const found = yield* db.rows<ListedSession>(
        `SELECT ${listed} FROM session WHERE eperson = $1 AND session_key = $2 ORDER BY begun DESC`,
        eperson.uuid,
        sessionKey,
      )
      return found.filter(({ begun }) => !ended.has(begun))
    },
  },
  changes: {
    /**
     * Ends one session of the eperson: no token of it is accepted any more on any node.
     * @param begun the time when the session began
     * @param own the session that makes the request
     * @param certain a time that has certainly passed
     * @returns false if there was no such session
     */
    *end(uuid: string, begun: number, own: KeptSession, certain: number, event: AuditEvent): Change<boolean> {
      yield* db.rights(event, 'own')
      const known = yield* lockState(uuid)
      if (!known || readState(known.text, known.sessionKey).ended.has(begun)) return false
      const expires = yield* db.value<number>(
        'DELETE FROM session WHERE eperson = $1 AND begun = $2 AND session_key = $3 RETURNING expires',
        uuid,
        begun,
        known.sessionKey,
      )
      if (expires === undefined) return false
      const state = stateWithout(known.text, { begun, expires }, certain)
      if (state === undefined) yield* keepOnly(uuid, begun === own.begun ? undefined : own)
      else {
        const sql = 'UPDATE eperson SET session_state = $1, stamp = $2 WHERE uuid = $3'
        yield* db.run(sql, state, yield* db.nextStamp(), uuid)
        yield* db.run('DELETE FROM provider_session WHERE eperson = $1 AND session = $2', uuid, begun)
      }
      yield* db.record(event)
      return true
    },
    /** Ends all sessions of the eperson but one, if that one is still alive. */
    *endOthers(uuid: string, own: KeptSession, event: AuditEvent): Change<void> {
      yield* db.rights(event, 'own')
      yield* keepOnly(uuid, own)
      yield* db.record(event)
    },
    /**
     * Ends every session and every other token of all epersons, in one step. Nothing is left that a wrong clock
     * could revive, so the mark is set to what the store's clock says (docs/decisions/0024).
     * @returns the number of epersons
     */
    *endAll(event: AuditEvent): Change<number> {
      yield* db.rights(event, 'own')
      const stamp = yield* db.nextStamp()
      const ended = yield* db.run(
        {
          sqlite: 'UPDATE eperson SET session_key = randomblob(32), stamp = $1',
          postgres: `UPDATE eperson SET stamp = $1,
            session_key = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))`,
        },
        stamp,
      )
      yield* db.run('DELETE FROM provider_session')
      yield* db.run('DELETE FROM session')
      yield* db.run('UPDATE state SET mark = $1', yield* db.clock())
      yield* db.record(event)
      return ended
    },
    /**
     * Removes sessions that can't be alive any more, for some epersons at a time.
     * @param after the last eperson that was looked at; '' to begin
     * @returns the last eperson that was looked at; undefined at the end
     */
    *forget(certain: number, after: string): Change<string | undefined> {
      const sql = 'SELECT eperson FROM session WHERE eperson > $1 ORDER BY eperson LIMIT 1 OFFSET $2'
      const last = yield* db.value<string>(sql, after, step)
      yield* db.run(
        `DELETE FROM session WHERE eperson > $1 AND (CAST($2 AS TEXT) IS NULL OR eperson <= $2) AND (expires <= $3 OR
           session_key <> (SELECT session_key FROM eperson e WHERE e.uuid = session.eperson))`,
        after,
        last ?? null,
        certain,
      )
      return last
    },
  },
}

export type Sessions = Offered<typeof sessions> & HotSessions

/** The methods on the path of requests, which each engine implements in its own way. */
export interface HotSessions {
  /** The stamp of an enabled eperson; undefined if there is none. Looked up on every authenticated request. */
  stampOf(uuid: string): Awaitable<number | undefined>
  /** An enabled eperson with their groups and the key of their sessions; undefined if there is none. */
  of(uuid: string): Awaitable<Session | undefined>
  /** The sessions that the system-wide alert allows, as the last answer of `stampOf` or `of` has read it. */
  allowed(): AllowedSessions
  /**
   * Records a login with a correct password, begins a session, and stores the renewed hash if there is one.
   * @returns the session to issue the token for; undefined if the eperson was disabled or deleted, or their
   * password was changed, since `credentials` was read
   */
  begin(login: Login, event: AuditEvent): Promise<Begun | undefined>
  /** Replaces the session key, which ends every token of the eperson (T4). @returns their latest provider session */
  logout(uuid: string, event: AuditEvent): Promise<ProviderSession | undefined>
  /** Records a refresh, with its time and network: at once, or within a minute if it repeats (D9). */
  refresh(refreshed: Refreshed, event: AuditEvent): Promise<void>
}

/** A session as its eperson sees it. */
export type ListedSession = Omit<RowOf<typeof session>, 'eperson' | 'session_key'>

/**
 * The columns that a login gives. The store may move the beginning by some milliseconds, so that no two sessions of an eperson
 * begin at the same time.
 */
export type NewSession = Omit<
  NewRow<typeof session>,
  'eperson' | 'method' | 'network' | 'session_key' | 'used' | 'used_network'
>

export interface Login extends VerifiedPassword {
  readonly begins: NewSession
  /** A hash with the current parameters, if the stored one has weaker ones. */
  readonly renewedHash: string | null
  /** The session key when the login began, if a ticket stands for it: an ending since then has replaced it. */
  readonly sessionKey?: Uint8Array
}

/** A refresh. The eperson and the method of the login are in its event. */
export interface Refreshed extends NewSession {
  /** Time of the refresh, in ms since 1970. */
  readonly used: number
  /** The stamp of the eperson when the token was verified. */
  readonly stamp: number
}

/** The secrets that sign tokens (T7). */
export interface Secrets {
  /** The signing secret first. New tokens are signed with it; tokens signed with any are accepted (T7). */
  current(): readonly Uint8Array[]
  /** Adds a new secret to sign with. @returns the number of accepted secrets */
  rotate(event: AuditEvent): Promise<number>
}

const listed = columnsOf(session, 'eperson', 'session_key')

/** Number of rows in a step, which goes on to the last row of an eperson. */
const step = 2_000

/** Ends all sessions but one, if that one is still alive. @param own undefined: ends all */
export function* keepOnly(uuid: string, own: KeptSession | undefined): Change<void> {
  const known = yield* lockState(uuid)
  if (!known) return
  const { sessionKey, text } = known
  const kept = own && isAlive({ sessionKey, ...readState(text, sessionKey) }, own) ? own : undefined
  const key = randomBytes(32)
  yield* db.run(
    'UPDATE eperson SET session_key = $1, session_state = $2, stamp = $3 WHERE uuid = $4',
    key,
    kept ? stateWithOnly(kept, key) : null,
    yield* db.nextStamp(),
    uuid,
  )
  const begun = kept?.begun ?? null
  yield* db.run('UPDATE session SET session_key = $1 WHERE eperson = $2 AND begun = $3', key, uuid, begun)
  yield* db.run(`DELETE FROM session WHERE ${others('begun')}`, uuid, begun)
  yield* db.run(`DELETE FROM provider_session WHERE ${others('session')}`, uuid, begun)
}

const others = (column: string): string =>
  `eperson = $1 AND (CAST($2 AS BIGINT) IS NULL OR ${column} IS DISTINCT FROM $2)`

interface State {
  readonly sessionKey: Uint8Array
  readonly text: string | null
}

/** Reads the state of an eperson's sessions, and locks their row until the change ends. */
const lockState = (uuid: string): Change<State | undefined> =>
  db.row<State>(
    `SELECT session_key AS "sessionKey", session_state AS text FROM eperson WHERE uuid = $1 FOR NO KEY UPDATE`,
    uuid,
  )

/**
 * Time in ms before a process signs with a new secret. Every event loop and every node looks for new secrets
 * once a second, so by then all of them accept it (T7).
 */
const signingDelay = 2_500

interface Secret {
  /** Identifies the secret. */
  readonly id: number | string
  readonly secret: Uint8Array
  /** Age in ms. */
  readonly age: number
}

interface Known extends Omit<Secret, 'age'> {
  /** Time from which this process may sign with it, on the clock of performance.now(). */
  readonly signsFrom: number
}

/** Puts the signing secret first. New secrets are accepted, but don't sign until all others have read them. */
export function createSigningOrder() {
  let secrets: readonly Known[] = []
  let current: readonly Uint8Array[] = []
  let timer: NodeJS.Timeout | undefined

  function arrange(): void {
    const now = performance.now()
    const signing = secrets.find(one => one.signsFrom <= now) ?? secrets.at(-1)
    current = secrets.toSorted((a, b) => Number(b === signing) - Number(a === signing)).map(one => one.secret)
    const next = Math.min(...secrets.map(one => one.signsFrom).filter(from => from > now))
    clearTimeout(timer)
    if (Number.isFinite(next)) timer = setTimeout(arrange, Math.ceil(next - now)).unref()
  }

  return {
    /** The secret to sign with, then the others that are accepted. */
    current: (): readonly Uint8Array[] => current,
    /** @param read the secrets of the store, newest first */
    update: (read: readonly Secret[]): void => {
      const now = performance.now()
      // Keeps the same buffer objects, because derived keys are cached by them.
      secrets = read.map(
        ({ id, secret, age }) =>
          secrets.find(one => one.id === id) ?? {
            id,
            secret,
            // The only secret needs no delay: there is no other to sign with.
            signsFrom: read.length === 1 || age > signingDelay ? now : now + signingDelay,
          },
      )
      arrange()
    },
  }
}
