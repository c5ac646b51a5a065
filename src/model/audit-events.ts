import type { LoginMethod } from './accounts.ts'

/** The events of the audit trail. They are only ever added to it, and removed when they are old (D9). */
export const eventNames = [
  'login',
  'refresh',
  'logout',
  'short-lived-token',
  'session.end',
  'token.add',
  'token.revoke',
  'on-behalf-of',
  'registration',
  'eperson.add',
  'eperson.change',
  'eperson.enable',
  'eperson.disable',
  'eperson.delete',
  'eperson.password',
  'eperson.link',
  'eperson.unlink',
  'agreement.reset',
  'group.add',
  'group.change',
  'group.delete',
  'group.join',
  'group.leave',
  'group.include',
  'group.exclude',
  'entity.import',
  'entity.update',
  'entity.drop',
  'entity.expose',
  'entity.access',
  'entity.relate',
  'entity.unrelate',
  'entity.default',
  'entity.writers',
  'record.put',
  'record.change',
  'record.delete',
  'entity.change',
  'item.add',
  'item.change',
  'item.access',
  'item.delete',
  'bundle.add',
  'bundle.change',
  'bundle.delete',
  'bitstream.add',
  'bitstream.change',
  'bitstream.delete',
  'download',
  'process.start',
  'process.cancel',
  'process.resume',
  'process.delete',
  'alert.change',
  'site.change',
  'metadata-schema.add',
  'metadata-schema.change',
  'metadata-schema.delete',
  'metadata-field.add',
  'metadata-field.change',
  'metadata-field.delete',
  'secret.rotate',
  'store.backup',
  'store.copy',
  'store.restore',
  'events.prune',
] as const

/** One line of the audit trail. It never contains a login name or a password that somebody typed. */
export interface AuditEvent {
  readonly event: (typeof eventNames)[number]
  readonly outcome: 'success' | 'failure'
  /** The eperson it concerns; null if there is no such eperson. */
  readonly eperson: string | null
  /**
   * Who did it. It differs from `eperson` while acting on behalf of someone.
   * null: the command line, or an unauthenticated caller.
   */
  readonly actor: string | null
  readonly clientIp: string | null
  readonly method: LoginMethod | null
  /** What was changed (a group, an entity, an item) or read (a bitstream), or which provider vouched. */
  readonly object: string | null
  /** The value of X-On-Behalf-Of-Reason. */
  readonly reason: string | null
  /** How many identical failures it stands for; not given: 1. */
  readonly count?: number
  /** What an administrator changed: only the members that differ, and no secrets. */
  readonly changes?: Changes
  /**
   * The sessions that the change relies on, which is made only while their stamps are these (T12). It is not part of what
   * is recorded. Not given: the change relies on none, as those of the command line.
   */
  readonly reliesOn?: readonly Stamped[]
}

/** A session as it was when it was verified. */
export interface Stamped {
  /** The eperson's UUID. */
  readonly uuid: string
  readonly stamp: number
}

/** The event of what goes on after its request has been answered, and relies on no session any more. */
export function detached({ reliesOn: _, ...event }: AuditEvent): AuditEvent {
  return event
}

/** Values as in the answers of the API; null: there was or is none. */
export interface Changes {
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
}

/** A login that failed after all because the eperson was changed in the meantime. A failed login has no actor. */
export const failedLogin = (event: AuditEvent): AuditEvent => ({ ...event, outcome: 'failure', actor: null })
