import type { AuditEvent } from '../../model/audit-events.ts'

/** Groups that the configuration names come into being at the start. */
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
