import type { AuditEvent } from '../../model/audit-events.ts'
import type { Database } from './driver.ts'

/** The audit trail. */
export function recordEvent(db: Database, event: AuditEvent): void {
  db.run(
    'INSERT INTO event (time, event, outcome, eperson, actor, client_ip, method, object, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    now(),
    event.event,
    event.outcome,
    event.eperson,
    event.actor,
    event.clientIp,
    event.method,
    event.object,
    event.reason,
  )
}

export const now = () => new Date().toISOString()
