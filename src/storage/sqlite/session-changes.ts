import type { KeptSession } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { readState, stateWithout } from '../../model/sessions.ts'
import { keepOnly } from '../statements/session-rows.ts'
import type { Database } from './driver.ts'
import { recordEvent } from './events.ts'
import { perform } from './perform.ts'
import { nextStamp } from './stamps.ts'

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
  if (state === undefined) perform(db, keepOnly(uuid, begun === own.begun ? undefined : own))
  else {
    db.run('UPDATE eperson SET session_state = ?, stamp = ? WHERE uuid = ?', state, nextStamp(db), uuid)
    db.run('DELETE FROM session WHERE eperson = ? AND begun = ?', uuid, begun)
    db.run('DELETE FROM provider_session WHERE eperson = ? AND session = ?', uuid, begun)
  }
  recordEvent(db, event)
  return true
}

export function endOtherSessions(db: Database, uuid: string, own: KeptSession, event: AuditEvent): void {
  perform(db, keepOnly(uuid, own))
  recordEvent(db, event)
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
