import { administratorGroup } from '../../model/accounts.ts'
import { type AuditEvent, failedLogin } from '../../model/audit-events.ts'
import { type ProviderSession, type SessionColumns, toProviderSession } from '../../model/identities.ts'
import type { Begun } from '../../model/sessions.ts'
import type { Changed, Login, NewEperson, OwnPassword } from '../accounts.ts'
import { insertEperson } from '../statements/people-rows.ts'
import { dropAccessTokens } from './access-token-changes.ts'
import { rememberNetwork } from './attempt-changes.ts'
import { resetMark } from './clock-changes.ts'
import type { Database } from './driver.ts'
import { now, recordEvent } from './events.ts'
import { join } from './group-changes.ts'
import { perform } from './perform.ts'
import { dropRulesFor } from './repository-changes.ts'
import { find, readSession } from './rows.ts'
import { beginSession, keepOnly } from './session-changes.ts'
import { endTokens, nextStamp } from './stamps.ts'

export { endTokens, nextStamp } from './stamps.ts'

/**
 * Changes of epersons. The single writer runs each function inside its transaction. Every change of an eperson gives
 * them a new stamp, so that no reader keeps using what it cached.
 */
export function recordLogin(db: Database, login: Login, event: AuditEvent): Begun | undefined {
  const changed = db.run(
    `UPDATE eperson SET last_login = ?, password_hash = coalesce(?, password_hash)
     WHERE uuid = ? AND password_stamp = ? AND enabled = 1`,
    now(),
    login.renewedHash,
    login.uuid,
    login.passwordStamp,
  )
  recordEvent(db, changed === 0 ? failedLogin(event) : event)
  if (changed === 0) return undefined
  rememberNetwork(db, login.uuid, event)
  const begun = beginSession(db, login.uuid, login.begins, event)
  const session = readSession(db, login.uuid)
  return session && { session, begun }
}

export function logout(db: Database, uuid: string, event: AuditEvent): ProviderSession | undefined {
  endTokens(db, uuid)
  const last = db.get<SessionColumns>(
    'SELECT provider, name, sid, detail FROM provider_session WHERE eperson = ? ORDER BY id DESC LIMIT 1',
    uuid,
  )
  db.run('DELETE FROM provider_session WHERE eperson = ?', uuid)
  db.run('DELETE FROM session WHERE eperson = ?', uuid)
  recordEvent(db, event)
  return last && toProviderSession(last)
}

/** The keys are of SQLite's own generator, which is seeded by the system: that they differ from the old ones is enough. */
export function logoutAll(db: Database, event: AuditEvent, now: number): number {
  const ended = db.run('UPDATE eperson SET session_key = randomblob(32), stamp = ?', nextStamp(db))
  db.run('DELETE FROM provider_session')
  db.run('DELETE FROM session')
  resetMark(db, now)
  recordEvent(db, event)
  return ended
}

export function addEperson(db: Database, eperson: NewEperson, event: AuditEvent) {
  const added = perform(db, insertEperson({ ...eperson, enabled: true, profile: {} }))
  if (!added) return 'exists' as const
  recordEvent(db, { ...event, eperson: added.uuid })
  if (eperson.administrator) join(db, administratorGroup, eperson.email, { ...event, event: 'group.join' })
  return added
}

export function setEnabled(db: Database, email: string, enabled: boolean, event: AuditEvent): Changed {
  const eperson = find(db, email)
  if (!eperson) return 'no-eperson'
  if ((eperson.enabled === 1) === enabled) return 'unchanged'
  db.run('UPDATE eperson SET enabled = ? WHERE uuid = ?', enabled ? 1 : 0, eperson.uuid)
  endTokens(db, eperson.uuid)
  if (!enabled) dropAccessTokens(db, eperson.uuid)
  recordEvent(db, { ...event, eperson: eperson.uuid })
  return 'changed'
}

export function setPassword(
  db: Database,
  email: string,
  hash: string,
  event: AuditEvent,
  checked?: OwnPassword,
): Changed {
  const eperson = find(db, email)
  if (!eperson) return 'no-eperson'
  if (checked && checked.uuid !== eperson.uuid) return 'unchanged'
  const sql = `UPDATE eperson SET password_hash = ?, password_stamp = ?
     WHERE uuid = ? AND password_stamp = coalesce(?, password_stamp)`
  if (db.run(sql, hash, nextStamp(db), eperson.uuid, checked?.passwordStamp ?? null) === 0) return 'unchanged'
  keepOnly(db, eperson.uuid, checked?.own)
  dropAccessTokens(db, eperson.uuid)
  recordEvent(db, { ...event, eperson: eperson.uuid })
  return 'changed'
}

export function deleteEperson(db: Database, email: string, event: AuditEvent): Changed {
  const eperson = find(db, email)
  if (!eperson) return 'no-eperson'
  dropRulesFor(db, eperson.uuid)
  db.run('DELETE FROM eperson WHERE uuid = ?', eperson.uuid)
  recordEvent(db, { ...event, eperson: eperson.uuid })
  return 'changed'
}
