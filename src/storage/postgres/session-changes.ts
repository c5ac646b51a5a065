import type { KeptSession } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { readState, stateWithout } from '../../model/sessions.ts'
import { keepOnly } from '../statements/session-rows.ts'
import type { Connection, Pool } from './driver.ts'
import { recordEvent } from './events.ts'
import { perform } from './perform.ts'
import { changing } from './stamps.ts'

/** Changes of sessions (docs/decisions/0040). */

interface State {
  readonly sessionKey: Uint8Array
  readonly text: string | null
}

/** Of an eperson, whose row is locked until the end of the transaction. */
async function lockState(db: Connection, uuid: string): Promise<State | undefined> {
  const sql = 'SELECT session_key, session_state FROM eperson WHERE uuid = $1 FOR NO KEY UPDATE'
  const [row] = await db.rows<{ session_key: Uint8Array; session_state: string | null }>(sql, uuid)
  return row && { sessionKey: row.session_key, text: row.session_state }
}

export const endSession = (
  pool: Pool,
  uuid: string,
  begun: number,
  own: KeptSession,
  certain: number,
  event: AuditEvent,
): Promise<boolean> =>
  changing(pool, event, 'own', async db => {
    const known = await lockState(db, uuid)
    if (!known || readState(known.text, known.sessionKey).ended.has(begun)) return false
    const [row] = await db.rows<{ expires: number }>(
      'DELETE FROM session WHERE eperson = $1 AND begun = $2 AND session_key = $3 RETURNING expires',
      uuid,
      begun,
      known.sessionKey,
    )
    if (!row) return false
    const state = stateWithout(known.text, { begun, expires: row.expires }, certain)
    if (state === undefined) await perform(db, keepOnly(uuid, begun === own.begun ? undefined : own))
    else {
      const sql = "UPDATE eperson SET session_state = $1, stamp = nextval('stamp') WHERE uuid = $2"
      await db.run(sql, state, uuid)
      await db.run('DELETE FROM provider_session WHERE eperson = $1 AND session = $2', uuid, begun)
    }
    await recordEvent(db, event)
    return true
  })

export const endOtherSessions = (
  pool: Pool,
  uuid: string,
  own: KeptSession,
  event: AuditEvent,
): Promise<void> =>
  changing(pool, event, 'own', async db => {
    await perform(db, keepOnly(uuid, own))
    await recordEvent(db, event)
  })

/** How many rows are looked at in one step. */
const step = 2_000

export async function forgetDeadSessions(
  pool: Pool,
  certain: number,
  after: string,
): Promise<string | undefined> {
  const sql = 'SELECT eperson FROM session WHERE eperson > $1 ORDER BY eperson LIMIT 1 OFFSET $2'
  const [row] = await pool.rows<{ eperson: string }>(sql, after, step)
  await pool.run(
    `DELETE FROM session s WHERE eperson > $1 AND ($2::text IS NULL OR eperson <= $2) AND (expires <= $3 OR
       session_key <> (SELECT session_key FROM eperson e WHERE e.uuid = s.eperson))`,
    after,
    row?.eperson ?? null,
    certain,
  )
  return row?.eperson
}
