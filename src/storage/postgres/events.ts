import type { AuditEvent } from '../../model/audit-events.ts'
import type { Queries, Value } from './driver.ts'
import { replaceNul } from './rows.ts'

/** The audit trail. */
export const now = () => new Date().toISOString()

export const insertEvent = (values: string) =>
  `INSERT INTO carrel.event (time, event, outcome, eperson, actor, client_ip, method, object, reason) ${values}`

export const eventValues = (event: AuditEvent): readonly Value[] => [
  now(),
  event.event,
  event.outcome,
  event.eperson,
  event.actor,
  event.clientIp,
  event.method,
  replaceNul(event.object),
  replaceNul(event.reason),
]

export const nineValues = 'VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)'

export async function recordEvent(db: Queries, event: AuditEvent): Promise<void> {
  await db.run(insertEvent(nineValues), ...eventValues(event))
}
