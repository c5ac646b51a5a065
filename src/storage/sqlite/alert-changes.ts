import { differences } from '../../lib/differences.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { AllowedSessions } from '../../model/sessions.ts'
import type { Alert } from '../processes.ts'
import type { Database } from './driver.ts'
import { recordEvent } from './events.ts'

/** There is one at most, because that is what DSpace's interface can edit. */
export function alertsIn(db: Database): Alert[] {
  type AlertRow = Omit<Alert, 'active'> & { readonly active: number }
  return db
    .all<AlertRow & Record<string, never>>(
      `SELECT id, message, allow_sessions AS "allowSessions", countdown_to AS "countdownTo", active FROM alert ORDER BY id`,
    )
    .map(row => ({ ...row, active: row.active === 1 }))
}

/** Whose sessions the active alert allows: prepared, because it is read after each change of the store. */
export function readAllowed(db: Database): () => AllowedSessions {
  const read = db.prepare('SELECT allow_sessions FROM alert WHERE active = 1')
  return () => (read.get()?.[0] as AllowedSessions | undefined) ?? 'all'
}

export function addAlert(db: Database, alert: Omit<Alert, 'id'>, event: AuditEvent): Alert | undefined {
  if (alertsIn(db).length > 0) return undefined
  const added = { id: 1, ...alert }
  put(db, added, undefined, event)
  return added
}

export function changeAlert(db: Database, alert: Alert, event: AuditEvent): Alert | undefined {
  const before = alertsIn(db).find(({ id }) => id === alert.id)
  if (before) put(db, alert, before, event)
  return before && alert
}

function put(db: Database, alert: Alert, before: Alert | undefined, event: AuditEvent): void {
  db.run(
    `INSERT INTO alert (id, message, allow_sessions, countdown_to, active) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET message = excluded.message, allow_sessions = excluded.allow_sessions,
       countdown_to = excluded.countdown_to, active = excluded.active`,
    alert.id,
    alert.message,
    alert.allowSessions,
    alert.countdownTo,
    alert.active ? 1 : 0,
  )
  recordEvent(db, { ...event, object: String(alert.id), changes: differences(before, alert) })
}
