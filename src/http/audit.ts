import type { FastifyRequest } from 'fastify'
import { clientAddress } from '../lib/addresses.ts'
import type { LoginMethod } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { type Caller, grantOf, sessionsOf } from '../model/caller.ts'

type What = Pick<AuditEvent, 'event' | 'outcome'> & {
  readonly object?: string
  readonly reason?: string | null
}

/**
 * The event of an action of the caller. If they act on behalf of another eperson, it names both (B4). A
 * change recorded by it is made only if the caller's sessions are still the same (T12).
 */
export function eventOf(caller: Caller, request: FastifyRequest, what: What): AuditEvent {
  const uuid = caller.kind === 'anonymous' ? null : caller.session.eperson.uuid
  return {
    event: what.event,
    outcome: what.outcome,
    eperson: uuid,
    actor: caller.kind === 'acting' ? caller.actor.eperson.uuid : uuid,
    clientIp: clientAddress(request.ip),
    request: request.id,
    method: caller.kind === 'anonymous' ? null : caller.method,
    object: what.object ?? null,
    reason: what.reason ?? reasonOf(caller),
    ...(caller.kind !== 'anonymous' && {
      session: caller.begun,
      reliesOn: sessionsOf(caller).map(({ eperson, stamp }) => ({ uuid: eperson.uuid, stamp })),
    }),
  }
}

/**
 * The administrator's reason for acting on behalf of another eperson, or the access token that was used (K7);
 * otherwise null.
 */
function reasonOf(caller: Caller): string | null {
  if (caller.kind === 'acting') return caller.reason
  const grant = grantOf(caller)
  return grant ? `access token ${grant.id}` : null
}

/** The event of a logout that a provider asks for: it has no actor, because no eperson asked for it. */
export const providerLogoutEvent = (
  request: FastifyRequest,
  { id, scheme }: { readonly id: string; readonly scheme: LoginMethod },
): AuditEvent => ({
  event: 'logout',
  outcome: 'success',
  eperson: null,
  actor: null,
  clientIp: clientAddress(request.ip),
  request: request.id,
  method: scheme,
  object: id,
  reason: null,
})

/** The event of a login that succeeds. */
export const loginEvent = (
  request: FastifyRequest,
  eperson: string | null,
  method: LoginMethod,
  /** The identity provider, for single sign-on. */
  provider: string | null = null,
) =>
  ({
    event: 'login',
    outcome: 'success',
    eperson,
    actor: eperson,
    clientIp: clientAddress(request.ip),
    request: request.id,
    method,
    object: provider,
    reason: null,
  }) satisfies AuditEvent
