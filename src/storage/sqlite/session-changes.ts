import { randomBytes } from 'node:crypto'
import { areaOf } from '../../lib/addresses.ts'
import type { KeptSession } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import {
  isAlive,
  maxSessions,
  maxShift,
  type NewSession,
  readState,
  stateWithOnly,
  stateWithout,
} from '../../model/sessions.ts'
import type { Database, Prepared } from './driver.ts'
import { recordEvent } from './events.ts'
import { endTokens, nextStamp } from './stamps.ts'

/** Changes of sessions (docs/decisions/0040). */

/** @returns when it began, for certain */
export function beginSession(
  db: Database,
  uuid: string,
  { begun: now, expires }: NewSession,
  { method, clientIp }: AuditEvent,
): number {
  // A time far ahead is from a clock that was wrong. It must not keep anybody out (docs/decisions/0024).
  const row = db.get<{ last_begun: number; session_key: Uint8Array }>(
    `UPDATE eperson SET last_begun = iif(last_begun > ?1 + ?2, ?1, max(last_begun + 1, ?1)) WHERE uuid = ?3
     RETURNING last_begun, session_key`,
    now,
    maxShift,
    uuid,
  )
  if (!row) throw new Error('the eperson who logs in is gone')
  const area = areaOf(clientIp)
  db.run(
    'INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    uuid,
    row.last_begun,
    method ?? '',
    area,
    now,
    area,
    expires,
    row.session_key,
  )
  limitSessions(db, uuid)
  return row.last_begun
}

function limitSessions(db: Database, uuid: string): void {
  const old = `SELECT begun FROM session WHERE eperson = ?1 ORDER BY used DESC, begun DESC LIMIT -1 OFFSET ?2`
  db.run(`DELETE FROM session WHERE eperson = ?1 AND begun IN (${old})`, uuid, maxSessions)
}

/** On the path of requests: its arguments are few and plain, because they are copied to the writer. */
export function refreshSession(
  db: Database,
  event: AuditEvent,
  begun: number,
  used: number,
  expires: number,
  stamp: number,
): void {
  const area = areaOf(event.clientIp)
  if (touchOf(db).run(used, area, expires, event.eperson, begun) === 0) {
    // One that isn't listed, or is from before there were any. It isn't listed again after its end.
    const added = db.run(
      `INSERT INTO session SELECT uuid, ?, ?, NULL, ?, ?, ?, session_key FROM eperson WHERE uuid = ? AND stamp = ?`,
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

/** Without RETURNING, which takes longer than the update. */
function touchOf(db: Database): Prepared {
  const known =
    touches.get(db) ??
    db.prepare('UPDATE session SET used = ?, used_network = ?, expires = ? WHERE eperson = ? AND begun = ?')
  touches.set(db, known)
  return known
}

export function endSession(
  db: Database,
  uuid: string,
  begun: number,
  own: KeptSession,
  certain: number,
  event: AuditEvent,
): boolean {
  const row = db.get<{ expires: number; session_state: string | null }>(
    `SELECT expires, session_state FROM session JOIN eperson ON uuid = eperson AND eperson.session_key = session.session_key
     WHERE eperson = ? AND begun = ?`,
    uuid,
    begun,
  )
  if (!row || readState(row.session_state, new Uint8Array()).ended.has(begun)) return false
  const state = stateWithout(row.session_state, { begun, expires: row.expires }, certain)
  if (state === undefined) keepOnly(db, uuid, begun === own.begun ? undefined : own)
  else {
    db.run('UPDATE eperson SET session_state = ?, stamp = ? WHERE uuid = ?', state, nextStamp(db), uuid)
    db.run('DELETE FROM session WHERE eperson = ? AND begun = ?', uuid, begun)
    db.run('DELETE FROM provider_session WHERE eperson = ? AND session = ?', uuid, begun)
  }
  recordEvent(db, event)
  return true
}

export function endOtherSessions(db: Database, uuid: string, own: KeptSession, event: AuditEvent): void {
  keepOnly(db, uuid, own)
  recordEvent(db, event)
}

/** Ends all sessions but one, which must still be alive. @param own undefined: all */
export function keepOnly(db: Database, uuid: string, own: KeptSession | undefined): void {
  const row = db.get<{ session_key: Uint8Array; session_state: string | null }>(
    'SELECT session_key, session_state FROM eperson WHERE uuid = ?',
    uuid,
  )
  if (!row) return
  const known = { sessionKey: row.session_key, ...readState(row.session_state, row.session_key) }
  const kept = own && isAlive(known, own) ? own : undefined
  const key = randomBytes(32)
  endTokens(db, uuid, key)
  if (kept) db.run('UPDATE eperson SET session_state = ? WHERE uuid = ?', stateWithOnly(kept, key), uuid)
  const begun = kept?.begun ?? null
  db.run('UPDATE session SET session_key = ? WHERE eperson = ? AND begun = ?', key, uuid, begun)
  db.run('DELETE FROM session WHERE eperson = ? AND begun IS NOT ?', uuid, begun)
  db.run('DELETE FROM provider_session WHERE eperson = ?1 AND (session IS NOT ?2 OR ?2 IS NULL)', uuid, begun)
}

/** How many rows are looked at in one step. */
const step = 2_000

export function forgetDeadSessions(db: Database, certain: number, after: string): string | undefined {
  const sql = 'SELECT eperson FROM session WHERE eperson > ? ORDER BY eperson LIMIT 1 OFFSET ?'
  const last = db.get<{ eperson: string }>(sql, after, step)?.eperson
  db.run(
    `DELETE FROM session WHERE eperson > ?1 AND (?2 IS NULL OR eperson <= ?2) AND (expires <= ?3 OR
       session_key <> (SELECT session_key FROM eperson e WHERE e.uuid = session.eperson))`,
    after,
    last ?? null,
    certain,
  )
  return last
}
