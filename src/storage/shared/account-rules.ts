import type { AuditEvent } from '../../model/audit-events.ts'

/** Recorded for each group that the configuration names and the start creates. */
export const configuredGroupEvent: AuditEvent = {
  event: 'group.add',
  outcome: 'success',
  eperson: null,
  actor: null,
  clientIp: null,
  method: null,
  object: null,
  reason: null,
}
