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
 * The event of something that the caller does. While they act on behalf of another eperson, it names both (B4). A change
 * that is made with it is made only if their sessions are still as they were (T12).
 */
export function eventOf(caller: Caller, request: FastifyRequest, what: What): AuditEvent {
  const uuid = caller.kind === 'anonymous' ? null : caller.session.eperson.uuid
  return {
    event: what.event,
    outcome: what.outcome,
    eperson: uuid,
    actor: caller.kind === 'acting' ? caller.actor.eperson.uuid : uuid,
    clientIp: clientAddress(request.ip),
    method: caller.kind === 'anonymous' ? null : caller.method,
    object: what.object ?? null,
    reason: what.reason ?? reasonOf(caller),
    ...(caller.kind !== 'anonymous' && {
      reliesOn: sessionsOf(caller).map(({ eperson, stamp }) => ({ uuid: eperson.uuid, stamp })),
    }),
  }
}

/** Why somebody acts, or which access token it was (K7). */
function reasonOf(caller: Caller): string | null {
  if (caller.kind === 'acting') return caller.reason
  const grant = grantOf(caller)
  return grant ? `access token ${grant.id}` : null
}

/** The event of a logout that a provider asks for: nobody here is the actor. */
export const providerLogoutEvent = (
  request: FastifyRequest,
  { id, scheme }: { readonly id: string; readonly scheme: LoginMethod },
): AuditEvent => ({
  event: 'logout',
  outcome: 'success',
  eperson: null,
  actor: null,
  clientIp: clientAddress(request.ip),
  method: scheme,
  object: id,
  reason: null,
})

/** The event of a login, successful or not. */
export const loginEvent = (
  request: FastifyRequest,
  eperson: string | null,
  method: LoginMethod,
  outcome: AuditEvent['outcome'],
  /** The identity provider, for single sign-on. */
  provider: string | null = null,
): AuditEvent => ({
  event: 'login',
  outcome,
  eperson,
  // After a failed login, nobody has proved to be the eperson.
  actor: outcome === 'success' ? eperson : null,
  clientIp: clientAddress(request.ip),
  method,
  object: provider,
  reason: null,
})
