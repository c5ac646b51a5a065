import { differences } from '../../lib/differences.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Alert, Alerts } from '../processes.ts'
import { insert, type Read, record, rights, rows, type StatementsOf, update } from './statements.ts'

/** System-wide alerts. There is one at most, because DSpace's interface can edit only one. */
export const alerts = {
  reads: { all: () => alertsIn() },
  changes: {
    *add(alert, event: AuditEvent) {
      yield* rights(event, 'shared')
      const added = { id: 1, ...alert }
      if ((yield* insert('alert', columnsOf(added), 'DO NOTHING')) === 0) return undefined
      yield* record({ ...event, object: String(added.id), changes: differences(null, added) })
      return added
    },
    *change(alert, event) {
      yield* rights(event, 'shared')
      const before = (yield* alertsIn(' FOR UPDATE')).find(({ id }) => id === alert.id)
      if (!before) return undefined
      yield* update('alert', columnsOf(alert), { id: alert.id })
      yield* record({ ...event, object: String(alert.id), changes: differences(before, alert) })
      return alert
    },
  },
} satisfies StatementsOf<Alerts>

function* alertsIn(lock = ''): Read<readonly Alert[]> {
  const found = yield* rows<Omit<Alert, 'active'> & { readonly active: number }>(
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
