import type { AuditEvent } from '../model/audit-events.ts'

/** The secrets that sign tokens (T7). */
export interface Secrets {
  /** The signing secret first. New tokens are signed with it; tokens signed with any are accepted (T7). */
  current(): readonly Uint8Array[]
  /** Adds a new secret to sign with. @returns how many secrets are accepted now */
  rotate(event: AuditEvent): Promise<number>
}
