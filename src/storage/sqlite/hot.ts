import { randomBytes } from 'node:crypto'
import { areaOf, networkPrefix } from '../../lib/addresses.ts'
import type { Group, Session } from '../../model/accounts.ts'
import { type AuditEvent, failedLogin } from '../../model/audit-events.ts'
import {
  maxProviderSessions,
  type ProviderSession,
  type SessionColumns,
  toProviderSession,
} from '../../model/identities.ts'
import { type Begun, maxSessions, maxShift } from '../../model/sessions.ts'
import { familiarFor, maxFamiliar } from '../../model/throttle.ts'
import type { session } from '../schema/sessions.ts'
import type { NewRow } from '../schema/table.ts'
import { mine } from '../statements/group-tree.ts'
import type { ProviderLogin } from '../statements/identities.ts'
import { type SessionRow, sessionColumns, toSession } from '../statements/people-rows.ts'
import type { Login, NewSession } from '../statements/sessions.ts'
import { now } from '../statements/statements.ts'
import type { Database, Prepared } from './driver.ts'
import { recordEvent } from './events.ts'
import { nextStamp } from './perform.ts'

/** The changes on the path of requests. The single writer runs each inside its transaction. */

/** @returns undefined if the eperson has changed since their password was looked up */
function recordLogin(db: Database, login: Login, event: AuditEvent): Begun | undefined {
  const changed = db.run(
    `UPDATE eperson SET last_login = ?, password_hash = coalesce(?, password_hash)
     WHERE uuid = ? AND password_stamp = ? AND session_key = coalesce(?, session_key) AND enabled = 1`,
    now(),
    login.renewedHash,
    login.uuid,
    login.passwordStamp,
    login.sessionKey ?? null,
  )
  if (changed === 0) return failLogin(db, event)
  recordEvent(db, event)
  return sessionFrom(db, login.uuid, beginSession(db, login.uuid, login.begins, event))
}

function beginAtProvider(
  db: Database,
  { uuid, sessionKey, session, begins }: ProviderLogin,
  event: AuditEvent,
): Begun | undefined {
  const changed = db.run(
    'UPDATE eperson SET last_login = ? WHERE uuid = ? AND session_key = ? AND enabled = 1',
    now(),
    uuid,
    sessionKey,
  )
  if (changed === 0) return failLogin(db, event)
  recordEvent(db, event)
  const begun = beginSession(db, uuid, begins, event)
  db.run(
    'INSERT INTO provider_session (eperson, provider, name, sid, detail, begun, session) VALUES (?, ?, ?, ?, ?, ?, ?)',
    uuid,
    session.provider,
    session.name,
    session.sid,
    JSON.stringify(session.detail),
    now(),
    begun,
  )
  db.run(
    `DELETE FROM provider_session WHERE eperson = ?1 AND id <=
       (SELECT id FROM provider_session WHERE eperson = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
    uuid,
    maxProviderSessions,
  )
  return sessionFrom(db, uuid, begun)
}

function failLogin(db: Database, event: AuditEvent): undefined {
  recordEvent(db, failedLogin(event))
}

function sessionFrom(db: Database, uuid: string, begun: number): Begun | undefined {
  const session = readSession(db, uuid)
  return session && { session, begun }
}

/** @returns the time that is recorded as its beginning, which may differ from the given one */
function beginSession(
  db: Database,
  uuid: string,
  begins: NewSession,
  { method, clientIp }: AuditEvent,
): number {
  const now = begins.begun
  if (clientIp !== null) rememberNetwork(db, uuid, networkPrefix(clientIp))
  // A `last_begun` far ahead is from a clock that was wrong. It must not lock the eperson out
  // (docs/decisions/0024).
  const row = db.get<{ last_begun: number; session_key: Uint8Array }>(
    `UPDATE eperson SET last_begun = iif(last_begun > ?1 + ?2, ?1, max(last_begun + 1, ?1)) WHERE uuid = ?3
     RETURNING last_begun, session_key`,
    now,
    maxShift,
    uuid,
  )
  if (!row) throw new Error('the eperson who logs in is gone')
  const area = areaOf(clientIp)
  const added: NewRow<typeof session> = {
    ...begins,
    eperson: uuid,
    begun: row.last_begun,
    method: method ?? '',
    network: area,
    used: now,
    used_network: area,
    session_key: row.session_key,
  }
  // Named, so that a service that is still running goes on when a newer one adds a column.
  const names = Object.keys(added)
  const marks = names.map(() => '?')
  db.run(`INSERT OR REPLACE INTO session (${names}) VALUES (${marks})`, ...Object.values(added))
  limitSessions(db, uuid)
  return row.last_begun
}

/** Remembers a network that the eperson has logged in from. */
function rememberNetwork(db: Database, uuid: string, network: string): void {
  const now = Date.now()
  db.run(
    `INSERT INTO familiar_network (eperson, network, at) VALUES (?, ?, ?)
     ON CONFLICT (eperson, network) DO UPDATE SET at = excluded.at`,
    uuid,
    network,
    now,
  )
  db.run(
    `DELETE FROM familiar_network WHERE eperson = ?1 AND (at < ?2 OR network NOT IN
       (SELECT network FROM familiar_network WHERE eperson = ?1 ORDER BY at DESC LIMIT ?3))`,
    uuid,
    now - familiarFor,
    maxFamiliar,
  )
}

function limitSessions(db: Database, uuid: string): void {
  const old = `SELECT begun FROM session WHERE eperson = ?1 ORDER BY used DESC, begun DESC LIMIT -1 OFFSET ?2`
  db.run(`DELETE FROM session WHERE eperson = ?1 AND begun IN (${old})`, uuid, maxSessions)
}

/** Ends every login token, and the tokens that were made from one. @returns the latest provider session */
function logout(db: Database, uuid: string, event: AuditEvent): ProviderSession | undefined {
  db.run('UPDATE eperson SET session_key = ?, stamp = ? WHERE uuid = ?', randomBytes(32), nextStamp(db), uuid)
  const last = db.get<SessionColumns>(
    'SELECT provider, name, sid, detail FROM provider_session WHERE eperson = ? ORDER BY id DESC LIMIT 1',
    uuid,
  )
  db.run('DELETE FROM provider_session WHERE eperson = ?', uuid)
  db.run('DELETE FROM session WHERE eperson = ?', uuid)
  recordEvent(db, event)
  return last && toProviderSession(last)
}

/** The session of an enabled eperson. Readers and the writer share it. */
export function readSession(db: Database, uuid: string): Session | undefined {
  const row = db.get<SessionRow>(`SELECT ${sessionColumns} FROM eperson WHERE uuid = ? AND enabled = 1`, uuid)
  if (!row) return undefined
  const groups = db.all<Group & Record<string, unknown>>(
    `${mine('?')} SELECT g.uuid, g.name FROM mine JOIN epersongroup g ON g.uuid = mine.id ORDER BY g.name`,
    uuid,
  )
  return toSession(row, groups)
}

/** Its arguments are few and plain, because they are copied to the writer. */
function refreshSession(
  db: Database,
  event: AuditEvent,
  area: string | null,
  begun: number,
  used: number,
  expires: number,
  stamp: number,
): void {
  if (touchOf(db).run(used, area, expires, event.eperson, begun) === 0) {
    // The session isn't listed: it may be older than the list. It isn't listed again after its end.
    const added = db.run(
      `INSERT INTO session (eperson, begun, method, used, used_network, expires, session_key)
       SELECT uuid, ?, ?, ?, ?, ?, session_key FROM eperson WHERE uuid = ? AND stamp = ?`,
      begun,
      event.method ?? '',
      used,
      area,
      expires,
      event.eperson,
      stamp,
    )
    if (added === 1) limitSessions(db, event.eperson ?? '')
  }
  recordEvent(db, event)
}

const touches = new WeakMap<Database, Prepared>()

/** The statement has no RETURNING, which takes longer than the update. */
function touchOf(db: Database): Prepared {
  const known =
    touches.get(db) ??
    db.prepare('UPDATE session SET used = ?, used_network = ?, expires = ? WHERE eperson = ? AND begun = ?')
  touches.set(db, known)
  return known
}

/**
 * The changes of the single writer that are no statements of a part, by name (docs/decisions/0005). They
 * don't depend on the rights of the caller (T12): a login relies on no session, a logout stays one, and
 * refusals are recorded.
 */
export const changes = { recordEvent, recordLogin, beginAtProvider, logout, refreshSession }
