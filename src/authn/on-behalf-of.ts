import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { eventOf } from '../http/audit.ts'
import { Problem } from '../http/problems.ts'
import { lacksFactor, requireCaller } from '../http/require-caller.ts'
import { readUuid } from '../lib/uuids.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { type Acting, type Caller, isAdministrator } from '../model/caller.ts'
import type { Accounts } from '../model/people.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Trail } from '../storage/trail.ts'

/** @returns the eperson on whose behalf an administrator acts (B1–B5) @throws Problem if they may not */
export type OnBehalfOf = (
  caller: Caller,
  ipGroups: Caller['specialGroups'],
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<Caller>

interface Parts {
  readonly people: Accounts
  readonly sessions: Sessions
  readonly trail: Trail
  readonly config: Pick<Config, 'loginOnBehalfOf' | 'onBehalfOfReason'>
}

const maxReasonLength = 1_000

export function createOnBehalfOf({ people, sessions, trail, config }: Parts): OnBehalfOf {
  return async (caller, ipGroups, request, reply) => {
    // Logout ignores the header: callers log out only themselves (O3). The login handler refuses it (L9).
    if (request.routeOptions.config.access?.onBehalf === 'ignored') return caller
    const wanted = readUuid(header(request, 'x-on-behalf-of'))
    if (wanted === undefined)
      throw new Problem(
        'bad-on-behalf-of',
        'X-On-Behalf-Of must be the UUID of one eperson, such as 5f7ac74e-…-8a9d0c2f1b3e.',
      )

    // The caller's short-lived token was made while acting on behalf of the same eperson (B5).
    if (caller.kind === 'acting' && caller.session.eperson.uuid === wanted) return caller

    const reason = readReason(request)
    const record = (outcome: AuditEvent['outcome'], target: string | null) =>
      trail.record({
        ...eventOf(caller, request, { event: 'on-behalf-of', outcome, reason }),
        eperson: target,
      })
    // Anonymous attempts are not recorded: they would drown the audit trail.
    const refuse = async (why: string) => {
      if (caller.kind !== 'anonymous') await record('failure', (await people.eperson(wanted))?.uuid ?? null)
      return new Problem('on-behalf-of-refused', why)
    }
    // The order of the checks ensures that only an administrator learns whether an eperson exists (B2).
    if (!config.loginOnBehalfOf)
      throw await refuse('Acting on behalf of others is disabled (CARREL_LOGIN_ON_BEHALF_OF).')
    if (caller.lacks && (caller.kind === 'anonymous' || caller.session.administrator))
      throw lacksFactor(caller.lacks)
    if (!isAdministrator(caller)) throw await refuse('Only administrators may act on behalf of others.')
    const admin = requireCaller(caller)
    const session = await sessions.of(wanted)
    if (!session)
      throw new Problem('bad-on-behalf-of', 'X-On-Behalf-Of does not name an eperson who may log in.')
    if (session.administrator) throw await refuse('Nobody may act on behalf of an administrator.')
    if (config.onBehalfOfReason === 'required' && reason === null)
      throw new Problem(
        'reason-required',
        'Acting on behalf of others needs a reason in the header X-On-Behalf-Of-Reason.',
      )

    await record('success', session.eperson.uuid)
    reply.header('x-acting-as', session.eperson.uuid)
    return {
      kind: 'acting',
      session,
      method: admin.method,
      ...(admin.proved && { proved: admin.proved }),
      // Groups from the administrator's login don't apply to the eperson; groups from the address apply to
      // the request (B3).
      sg: [],
      specialGroups: ipGroups,
      begun: admin.begun,
      ends: admin.ends,
      actor: admin.session,
      reason,
    } satisfies Acting
  }
}

const header = (request: FastifyRequest, name: string): string => {
  const value = request.headers[name]
  return typeof value === 'string' ? value.trim() : ''
}

/** Decodes the header as UTF-8, which people write; Node reads header bytes as Latin-1. */
function readReason(request: FastifyRequest): string | null {
  const text = Buffer.from(header(request, 'x-on-behalf-of-reason'), 'latin1').toString()
  return text === '' ? null : text.slice(0, maxReasonLength)
}
