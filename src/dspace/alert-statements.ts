import { differences } from '../lib/differences.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { AllowedSessions } from '../model/sessions.ts'
import * as tables from '../storage/schema/service.ts'
import type { PartStatements } from '../storage/statements/offered.ts'
import type { Change, Offered, Read } from '../storage/statements/statements.ts'
import * as db from '../storage/statements/statements.ts'

/** A message shown on every page (`/api/system/systemwidealerts`). */
export interface Alert {
  readonly id: number
  readonly message: string
  readonly allowSessions: AllowedSessions
  /** RFC 3339; null: no countdown. */
  readonly countdownTo: string | null
  readonly active: boolean
}

/** System-wide alerts. There is one at most, because DSpace's interface can edit only one. */
export const alerts = {
  reads: { all: () => alertsIn() },
  changes: {
    /** @returns undefined if there is one already */
    *add(alert: Omit<Alert, 'id'>, event: AuditEvent): Change<Alert | undefined> {
      yield* db.rights(event, 'shared')
      const added = { id: 1, ...alert }
      if ((yield* db.insert(tables.alert, columnsOf(added), 'DO NOTHING')) === 0) return undefined
      yield* db.record({ ...event, object: String(added.id), changes: differences(null, added) })
      return added
    },
    /** @returns undefined if there is none with this id */
    *change(alert: Alert, event: AuditEvent): Change<Alert | undefined> {
      yield* db.rights(event, 'shared')
      const before = (yield* alertsIn(' FOR UPDATE')).find(({ id }) => id === alert.id)
      if (!before) return undefined
      yield* db.update(tables.alert, columnsOf(alert), { id: alert.id })
      yield* db.record({ ...event, object: String(alert.id), changes: differences(before, alert) })
      return alert
    },
  },
} satisfies PartStatements

export type Alerts = Offered<typeof alerts>

function* alertsIn(lock = ''): Read<readonly Alert[]> {
  const found = yield* db.rows<Omit<Alert, 'active'> & { readonly active: number }>(
    `SELECT id, message, allow_sessions AS "allowSessions", countdown_to AS "countdownTo", active FROM alert
     ORDER BY id${lock}`,
  )
  return found.map(row => ({ ...row, active: row.active === 1 }))
}

const columnsOf = ({ id, message, allowSessions, countdownTo, active }: Alert) => ({
  id,
  message,
  allow_sessions: allowSessions,
  countdown_to: countdownTo,
  active: Number(active),
})
