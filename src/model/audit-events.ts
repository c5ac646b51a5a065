import type { LoginMethod } from './accounts.ts'

/** What the audit trail knows. Events are only ever added. */
export const eventNames = [
  'login',
  'refresh',
  'logout',
  'short-lived-token',
  'on-behalf-of',
  'eperson.add',
  'eperson.enable',
  'eperson.disable',
  'eperson.delete',
  'eperson.password',
  'eperson.link',
  'eperson.unlink',
  'group.add',
  'group.join',
  'group.leave',
  'entity.import',
  'entity.drop',
  'entity.expose',
  'item.add',
  'item.change',
  'item.delete',
  'download',
  'secret.rotate',
  'store.copy',
] as const

/** One line of the audit trail, without what was typed as a name or a password. */
export interface AuditEvent {
  readonly event: (typeof eventNames)[number]
  readonly outcome: 'success' | 'failure'
  /** Whom it concerns; null where no such eperson exists. */
  readonly eperson: string | null
  /** Who did it; differs from `eperson` while acting on behalf of someone. null: the command line, or nobody known. */
  readonly actor: string | null
  readonly clientIp: string | null
  readonly method: LoginMethod | null
  /** What was changed (a group, an entity, an item) or read (a bitstream), and which provider vouched. */
  readonly object: string | null
  /** Why: X-On-Behalf-Of-Reason. */
  readonly reason: string | null
}

/** A login that came to nothing after all, because the eperson was changed meanwhile: nobody has acted. */
export const failedLogin = (event: AuditEvent): AuditEvent => ({ ...event, outcome: 'failure', actor: null })
