import { maxAccessTokens, type StoredAccessToken } from '../../model/access-tokens.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { useInterval } from '../access-tokens.ts'
import type { Database } from './driver.ts'
import { recordEvent } from './events.ts'
import { changeStamp } from './stamps.ts'

/** Changes of access tokens (docs/decisions/0040). */
export function addAccessToken(
  db: Database,
  token: Omit<StoredAccessToken, 'used'>,
  event: AuditEvent,
): 'added' | 'name-taken' | 'too-many' | 'no-eperson' {
  const { id, eperson, name, hash, scope, networks, created, expires } = token
  const owner = db.get<{ password_stamp: number }>(
    'SELECT password_stamp FROM eperson WHERE uuid = ? AND enabled = 1',
    eperson,
  )
  if (!owner) return 'no-eperson'
  db.run(
    'DELETE FROM access_token WHERE eperson = ? AND (expires <= ? OR password_stamp <> ?)',
    eperson,
    created,
    owner.password_stamp,
  )
  const others = db.all<{ name: string }>('SELECT name FROM access_token WHERE eperson = ?', eperson)
  if (others.some(other => other.name === name)) return 'name-taken'
  if (others.length >= maxAccessTokens) return 'too-many'
  db.run(
    'INSERT INTO access_token VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)',
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
  recordEvent(db, event)
  return 'added'
}

export function revokeAccessToken(
  db: Database,
  id: string,
  eperson: string | null,
  event: AuditEvent,
): boolean {
  const row = db.get<{ eperson: string }>(
    'DELETE FROM access_token WHERE id = ?1 AND eperson = coalesce(?2, eperson) RETURNING eperson',
    id,
    eperson,
  )
  if (!row) return false
  changeStamp(db, row.eperson)
  recordEvent(db, { ...event, eperson: row.eperson })
  return true
}

export function revokeAccessTokens(db: Database, eperson: string, event: AuditEvent): number {
  const revoked = dropAccessTokens(db, eperson)
  if (revoked === 0) return 0
  changeStamp(db, eperson)
  recordEvent(db, event)
  return revoked
}

/** For a change of the eperson that changes their stamp, too. */
export const dropAccessTokens = (db: Database, eperson: string): number =>
  db.run('DELETE FROM access_token WHERE eperson = ?', eperson)

export function noteAccessTokenUse(db: Database, id: string, at: number): void {
  const sql = 'UPDATE access_token SET used = ?1 WHERE id = ?2 AND (used IS NULL OR used <= ?1 - ?3)'
  db.run(sql, at, id, useInterval)
}
