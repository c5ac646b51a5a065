import { differences } from '../../lib/differences.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Alert } from '../processes.ts'
import type { Connection, Queries } from './driver.ts'
import { recordEvent } from './events.ts'
import { replaceNul } from './rows.ts'

export const alertsIn = async (db: Queries, lock = ''): Promise<Alert[]> =>
  (
    await db.rows<Omit<Alert, 'active'> & { active: number } & Record<string, unknown>>(
      `SELECT id, message, allow_sessions AS "allowSessions", countdown_to AS "countdownTo", active FROM alert
       ORDER BY id ${lock}`,
    )
  ).map(row => ({ ...row, active: row.active === 1 }))

export async function addAlert(
  db: Connection,
  alert: Omit<Alert, 'id'>,
  event: AuditEvent,
): Promise<Alert | undefined> {
  const added = { id: 1, ...alert }
  const made = await db.run(
    `INSERT INTO alert (id, message, allow_sessions, countdown_to, active) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING`,
    ...valuesOf(added),
  )
  if (made === 0) return undefined
  await recordEvent(db, { ...event, object: String(added.id), changes: differences(undefined, added) })
  return added
}

export async function changeAlert(
  db: Connection,
  alert: Alert,
  event: AuditEvent,
): Promise<Alert | undefined> {
  const before = (await alertsIn(db, 'FOR UPDATE')).find(({ id }) => id === alert.id)
  if (!before) return undefined
  await db.run(
    'UPDATE alert SET message = $2, allow_sessions = $3, countdown_to = $4, active = $5 WHERE id = $1',
    ...valuesOf(alert),
  )
  await recordEvent(db, { ...event, object: String(alert.id), changes: differences(before, alert) })
  return alert
}

const valuesOf = (alert: Alert) => [
  alert.id,
  replaceNul(alert.message),
  alert.allowSessions,
  alert.countdownTo,
  Number(alert.active),
]
