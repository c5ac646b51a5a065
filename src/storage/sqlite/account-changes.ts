import type { AuditEvent } from '../../model/audit-events.ts'
import { resetMark } from './clock-changes.ts'
import type { Database } from './driver.ts'
import { recordEvent } from './events.ts'
import { nextStamp } from './stamps.ts'

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
