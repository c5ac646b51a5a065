import type { AuditEvent } from '../model/audit-events.ts'

/** The secrets that tokens are signed with (T7). */
export interface Secrets {
  /** Newest first. New tokens are made with the first, all are accepted (T7). */
  current(): readonly Uint8Array[]
  /** Adds a new first secret. @returns how many are accepted now */
  rotate(event: AuditEvent): Promise<number>
}
