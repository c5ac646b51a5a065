import { networkOf } from '../../lib/addresses.ts'
import { countRepeats } from '../../lib/repeats.ts'
import { type AuditEvent, detached } from '../../model/audit-events.ts'

export interface RepeatedFailures {
  record(event: AuditEvent): Promise<void>
  /** Records what was counted. */
  close(): Promise<void>
}

/**
 * Counts identical failures of one network (D9), so that nobody can fill the audit trail by failing.
 * @param record writes one event
 */
export function countFailures(record: (event: AuditEvent) => Promise<void>): RepeatedFailures {
  const repeats = countRepeats()
  return {
    record: async given => {
      const event = detached(given)
      if (event.outcome !== 'failure') return record(event)
      const from = { ...event, clientIp: event.clientIp === null ? null : networkOf(event.clientIp) }
      return repeats.add(JSON.stringify(Object.values(from)), {
        first: () => record(event),
        others: count => record({ ...from, count }),
      })
    },
    close: repeats.close,
  }
}
