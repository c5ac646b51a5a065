import type { LoginMethod } from './accounts.ts'

/**
 * Names of the events in the audit trail. Events are only ever appended, and removed when they are old (D9).
 */
export const eventNames = [
  'login',
  'refresh',
  'logout',
  'short-lived-token',
  'session.end',
  'factor.ask',
  'factor.add',
  'factor.change',
  'factor.remove',
  'factor.reset',
  'factor.codes',
  'factor.recover',
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
  'entity.restore',
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

/** One event of the audit trail. It never contains a login name or a password as it was typed. */
export interface AuditEvent {
  readonly event: (typeof eventNames)[number]
  readonly outcome: 'success' | 'failure'
  /** The eperson it concerns; null if that eperson does not exist. */
  readonly eperson: string | null
  /**
   * UUID of the eperson who acted. It differs from `eperson` while acting on behalf of someone. null: the
   * command line, or an unauthenticated caller.
   */
  readonly actor: string | null
  readonly clientIp: string | null
  readonly method: LoginMethod | null
  /**
   * The object that was changed (a group, an entity, an item) or read (a bitstream), or
   * the provider that vouched.
   */
  readonly object: string | null
  /** The value of X-On-Behalf-Of-Reason. */
  readonly reason: string | null
  /** The id of the request; absent: it is of a command, or stands for several requests. */
  readonly request?: string
  /** Number of identical events that it stands for; absent: 1. */
  readonly count?: number
  /** The events that were counted; absent: there is one, or identical failures. */
  readonly repeats?: Repeats
  /** The change that an administrator made: only the members that differ, and no secrets. */
  readonly changes?: Changes
  /**
   * The sessions that the change relies on. It is made only while their stamps are these (T12). They are not
   * recorded. Absent: the change relies on no session, as on the command line.
   */
  readonly reliesOn?: readonly Stamped[]
  /**
   * Beginning of the session that the event belongs to, in ms since 1970, by which repetitions are told apart.
   * It is not recorded.
   */
  readonly session?: number
}

/** Events that were counted in memory and recorded together (docs/decisions/0069). Times are in RFC 3339, UTC. */
export interface Repeats {
  readonly first: string
  readonly last: string
  /** Number of events of each object, if they were several. */
  readonly objects?: Readonly<Record<string, number>>
  /** Number of events of each network, if they were several. */
  readonly networks?: Readonly<Record<string, number>>
}

/** Events that change nothing in the store. A client may repeat them at any speed. */
const repeatable: ReadonlySet<AuditEvent['event']> = new Set([
  'refresh',
  'short-lived-token',
  'factor.ask',
  'on-behalf-of',
  'download',
])

/** True for an event that is counted when it repeats: it succeeds, and changes nothing in the store. */
export const isCounted = ({ event, outcome }: AuditEvent): boolean =>
  outcome === 'success' && repeatable.has(event)

/**
 * Kinds of chains of the audit trail: one for changes, and one for what a client may repeat at any speed, which is
 * pruned when it is too large.
 */
export type ChainKind = 'changes' | 'repeats'

export const chainKindOf = (event: AuditEvent): ChainKind =>
  event.outcome === 'failure' || isCounted(event) ? 'repeats' : 'changes'

/** A session's stamp when it was verified. */
interface Stamped {
  /** The eperson's UUID. */
  readonly uuid: string
  readonly stamp: number
}

/**
 * Returns an event for work that continues after its request was answered, and so
 * relies on no session any more.
 */
export function detached({ reliesOn: _, session: __, ...event }: AuditEvent): AuditEvent {
  return event
}

/**
 * Values in the form that the API answers with; null: the object did not exist, or does not exist any more.
 */
export interface Changes {
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
}

/**
 * Returns the event of a login that failed because the eperson was changed during it. A
 * failed login has no actor.
 */
export const failedLogin = (event: AuditEvent): AuditEvent => ({ ...event, outcome: 'failure', actor: null })
