import { maxAccessTokens, type StoredAccessToken } from '../../model/access-tokens.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { useInterval } from '../access-tokens.ts'
import type { Pool, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { changeStamp, changing } from './stamps.ts'

/** Changes of access tokens (docs/decisions/0040). */
export const addAccessToken = (
  pool: Pool,
  token: Omit<StoredAccessToken, 'used'>,
  event: AuditEvent,
): Promise<'added' | 'name-taken' | 'too-many' | 'no-eperson'> =>
  changing(pool, event, 'own', async db => {
    const { id, eperson, name, hash, scope, networks, created, expires } = token
    // Locked, so that tokens made at once see each other.
    const [owner] = await db.rows<{ password_stamp: number }>(
      'SELECT password_stamp FROM eperson WHERE uuid = $1 AND enabled = 1 FOR NO KEY UPDATE',
      eperson,
    )
    if (!owner) return 'no-eperson'
    await db.run(
      'DELETE FROM access_token WHERE eperson = $1 AND (expires <= $2 OR password_stamp <> $3)',
      eperson,
      created,
      owner.password_stamp,
    )
    const sql = 'SELECT name FROM access_token WHERE eperson = $1'
    const others = await db.rows<{ name: string }>(sql, eperson)
    if (others.some(other => other.name === name)) return 'name-taken'
    if (others.length >= maxAccessTokens) return 'too-many'
    await db.run(
      `INSERT INTO access_token (id, eperson, name, hash, scope, networks, created, expires, password_stamp)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      id,
      eperson,
      name,
      hash,
      JSON.stringify(scope),
      JSON.stringify(networks),
      created,
      expires,
      owner.password_stamp,
    )
    await recordEvent(db, event)
    return 'added'
  })

export const revokeAccessToken = (
  pool: Pool,
  id: string,
  eperson: string | null,
  event: AuditEvent,
): Promise<boolean> =>
  changing(pool, event, 'own', async db => {
    const [row] = await db.rows<{ eperson: string }>(
      'DELETE FROM access_token WHERE id = $1 AND eperson = coalesce($2, eperson) RETURNING eperson',
      id,
      eperson,
    )
    if (!row) return false
    await changeStamp(db, row.eperson)
    await recordEvent(db, { ...event, eperson: row.eperson })
    return true
  })

export const revokeAccessTokens = (pool: Pool, eperson: string, event: AuditEvent): Promise<number> =>
  changing(pool, event, 'own', async db => {
    const revoked = await dropAccessTokens(db, eperson)
    if (revoked === 0) return 0
    await changeStamp(db, eperson)
    await recordEvent(db, event)
    return revoked
  })

/** For a change of the eperson that changes their stamp, too. */
export const dropAccessTokens = (db: Queries, eperson: string): Promise<number> =>
  db.run('DELETE FROM access_token WHERE eperson = $1', eperson)

export async function noteAccessTokenUse(pool: Pool, id: string, at: number): Promise<void> {
  const sql = `UPDATE access_token SET used = $1::bigint
    WHERE id = $2 AND (used IS NULL OR used <= $1::bigint - ${useInterval})`
  await pool.run(sql, at, id)
}
