import { randomBytes } from 'node:crypto'
import type { KeptSession } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { isAlive, readState, stateWithOnly, stateWithout } from '../../model/sessions.ts'
import type { Database } from './driver.ts'
import { recordEvent } from './events.ts'
import { endTokens, nextStamp } from './stamps.ts'

/** Changes of sessions (docs/decisions/0040). */

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
