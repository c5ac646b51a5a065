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
import type { Refreshed } from '../sessions.ts'
import type { Connection, Pool, Value } from './driver.ts'
import { eventValues, insertEvent, recordEvent, runRecording } from './events.ts'
import { changing } from './stamps.ts'

/** Changes of sessions (docs/decisions/0040). */

/**
 * What a login sets of its eperson, with `newSessionValues` from this placeholder on. The row is locked, so no two
 * sessions of an eperson begin at the same time. A time far ahead is from a clock that was wrong, and must not keep anybody
 * out (docs/decisions/0024).
 */
export const nextBegun = (next: number): string =>
  `last_begun = CASE WHEN last_begun > $${next}::bigint + ${maxShift} THEN $${next}::bigint
     ELSE greatest(last_begun + 1, $${next}::bigint) END`

/** Begins a session, in a statement whose CTE `changed` has the eperson's row with `last_begun` if the login succeeds. */
export const insertSession = (next: number): string =>
  `begun_here AS (
     INSERT INTO session (eperson, begun, method, network, used, used_network, expires, session_key)
     SELECT uuid, last_begun, $${next + 2}::text, $${next + 3}::text, $${next}::bigint, $${next + 3}::text, $${next + 1}::bigint,
       session_key FROM changed
   ), no_longer_listed AS (
     DELETE FROM session WHERE eperson IN (SELECT uuid FROM changed) AND begun IN
       (SELECT begun FROM session s WHERE s.eperson = session.eperson
        ORDER BY used DESC, begun DESC OFFSET ${maxSessions - 1})
   )`

export const newSessionValues = (
  { begun, expires }: NewSession,
  { method, clientIp }: AuditEvent,
): readonly Value[] => [begun, expires, method ?? '', areaOf(clientIp)]

export async function refreshSession(pool: Pool, refreshed: Refreshed, event: AuditEvent): Promise<void> {
  const { begun, used, expires, stamp } = refreshed
  // The second insertion is of one that isn't listed, or is from before there were any. It isn't listed again after its end.
  const at = eventValues
  const sql = `WITH refreshed AS (
       UPDATE session SET used = $${at + 2}::bigint, used_network = $${at + 3}::text, expires = $${at + 4}::bigint
       WHERE eperson = $4 AND begun = $${at + 1}::bigint RETURNING 1
     ), added AS (
       INSERT INTO session (eperson, begun, method, used, used_network, expires, session_key)
       SELECT uuid, $${at + 1}::bigint, $7, $${at + 2}::bigint, $${at + 3}::text, $${at + 4}::bigint, session_key
       FROM eperson WHERE uuid = $4 AND stamp = $${at + 5}::bigint AND NOT EXISTS (SELECT FROM refreshed)
         AND (SELECT count(*) FROM session s WHERE s.eperson = $4) < ${maxSessions}
       ON CONFLICT DO NOTHING
     )
     ${insertEvent}`
  const values = [begun, used, areaOf(event.clientIp), expires, stamp]
  await pool.statement(db => runRecording(db, sql, event, values))
}

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
    if (state === undefined) await keepOnly(db, uuid, begun === own.begun ? undefined : own)
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
    await keepOnly(db, uuid, own)
    await recordEvent(db, event)
  })

/** Ends all sessions but one, which must still be alive. @param own undefined: all */
export async function keepOnly(db: Connection, uuid: string, own: KeptSession | undefined): Promise<void> {
  const known = await lockState(db, uuid)
  if (!known) return
  const { sessionKey, text } = known
  const kept = own && isAlive({ sessionKey, ...readState(text, sessionKey) }, own) ? own : undefined
  const key = randomBytes(32)
  await db.run(
    `UPDATE eperson SET session_key = $1, session_state = $2, stamp = nextval('stamp') WHERE uuid = $3`,
    key,
    kept ? stateWithOnly(kept, key) : null,
    uuid,
  )
  const begun = kept?.begun ?? null
  await db.run('UPDATE session SET session_key = $1 WHERE eperson = $2 AND begun = $3', key, uuid, begun)
  const others = (column: string) =>
    `eperson = $1 AND ($2::bigint IS NULL OR ${column} IS DISTINCT FROM $2::bigint)`
  await db.run(`DELETE FROM session WHERE ${others('begun')}`, uuid, begun)
  await db.run(`DELETE FROM provider_session WHERE ${others('session')}`, uuid, begun)
}

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
