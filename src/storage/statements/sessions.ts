import { randomBytes } from 'node:crypto'
import type { KeptSession } from '../../model/accounts.ts'
import { isAlive, readState, stateWithOnly, stateWithout } from '../../model/sessions.ts'
import { session } from '../schema/sessions.ts'
import { columnsOf } from '../schema/table.ts'
import type { HotSessions, ListedSession, Sessions } from '../sessions.ts'
import type { Change, StatementsOf } from './statements.ts'
import * as db from './statements.ts'

/** Sessions (docs/decisions/0040). Logins, refreshes and logouts are in `hot.ts` of each engine. */
export const sessions = {
  reads: {
    *list({ eperson, sessionKey, ended }) {
      const found = yield* db.rows<ListedSession>(
        `SELECT ${listed} FROM session WHERE eperson = $1 AND session_key = $2 ORDER BY begun DESC`,
        eperson.uuid,
        sessionKey,
      )
      return found.filter(({ begun }) => !ended.has(begun))
    },
  },
  changes: {
    *end(uuid, begun, own, certain, event) {
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
    *endOthers(uuid, own, event) {
      yield* db.rights(event, 'own')
      yield* keepOnly(uuid, own)
      yield* db.record(event)
    },
    *endAll(event) {
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
    *forget(certain, after) {
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
} satisfies StatementsOf<Omit<Sessions, keyof HotSessions>>

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

/**
 * Puts the signing secret first. New secrets are accepted, but don't sign until all others have read them.
 */
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
