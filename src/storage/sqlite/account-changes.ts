import { administratorGroup } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Changed, NewEperson, OwnPassword } from '../accounts.ts'
import { insertEperson } from '../statements/people-rows.ts'
import { dropReader } from '../statements/reader-changes.ts'
import { dropAccessTokens } from './access-token-changes.ts'
import { resetMark } from './clock-changes.ts'
import type { Database } from './driver.ts'
import { recordEvent } from './events.ts'
import { join } from './group-changes.ts'
import { perform } from './perform.ts'
import { find } from './rows.ts'
import { keepOnly } from './session-changes.ts'
import { endTokens, nextStamp } from './stamps.ts'

export { endTokens, nextStamp } from './stamps.ts'

/** Changes of epersons. Each gives them a new stamp, so that no reader keeps using what it cached. */

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
  perform(db, dropReader(eperson.uuid))
  db.run('DELETE FROM eperson WHERE uuid = ?', eperson.uuid)
  recordEvent(db, { ...event, eperson: eperson.uuid })
  return 'changed'
}
