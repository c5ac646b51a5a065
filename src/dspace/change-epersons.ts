import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { changes, jsonOf, openRightTo } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { jsonObject, patchBody } from '../http/json-body.ts'
import { hasMailToken } from '../http/mail-token.ts'
import { Problem } from '../http/problems.ts'
import { requireAdministrator, requireCaller } from '../http/require-caller.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Eperson } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { type Caller, isAdministrator } from '../model/caller.ts'
import type { People } from '../storage/people.ts'
import { epersonChange, newPerson } from './eperson-input.ts'
import { epersonBody } from './epersons.ts'

const route = contractsIn(() => import('./people-contracts.ts'))

/** Makes the audit event of a caller's action, as `eventOf` of authentication does. */
export type EventOf = (
  caller: Caller,
  request: FastifyRequest,
  what: Pick<AuditEvent, 'event' | 'outcome'>,
) => AuditEvent

interface Parts {
  readonly people: People
  readonly addresses: Addresses
  readonly eventOf: EventOf
  readonly asksAgreement: boolean
  /** Adds an eperson for a request with the token of a mail; undefined if the service sends no mail. */
  readonly byMail: ByMail | undefined
}

export interface ByMail {
  /** @returns undefined if the request has no such token */
  register(request: FastifyRequest): Promise<Eperson> | undefined
}

export type PatchEperson = (request: FastifyRequest) => Promise<object>

const lastAdministrator = () =>
  new Problem(
    'change-refused',
    'Nobody could administer the service any more: this is the last administrator.',
  )
const noEperson = () => new Problem('not-found', 'There is no eperson with this UUID.')
const known = () => new Problem('change-refused', 'There is an eperson with this email address already.')

/** `POST /api/eperson/epersons` and `DELETE …/{uuid}`, for administrators (M1, M3). */
export function changeEpersonRoutes(
  app: FastifyInstance,
  { people, addresses, eventOf, asksAgreement, byMail }: Parts,
): void {
  const path = '/eperson/epersons'
  // The body of others is never parsed.
  const mayPost = async (request: FastifyRequest) => {
    if (!byMail || !hasMailToken(request)) requireAdministrator(request.caller, 'add epersons')
  }
  routesOf(app).post(
    path,
    {
      preParsing: mayPost,
      ...route(
        'addEperson',
        changes(
          openRightTo('add epersons: administrators, or the owner of an address with the token of a mail'),
          'none',
          jsonOf(),
        ),
      ),
    },
    async (request, reply) => {
      const registered = await byMail?.register(request)
      if (registered) return created(reply, registered)
      const caller = requireAdministrator(request.caller, 'add epersons')
      const event = eventOf(caller, request, { event: 'eperson.add', outcome: 'success' })
      const added = await people.createEperson(
        { ...newPerson(jsonObject(request)), passwordHash: null },
        event,
      )
      if (added === 'exists') throw known()
      return created(reply, added)
    },
  )

  const created = (reply: FastifyReply, eperson: Eperson) =>
    reply
      .code(201)
      .header('location', addresses.eperson(eperson.uuid))
      .send(epersonBody(eperson, addresses, asksAgreement))

  routesOf(app).delete<{ Params: { uuid: string } }>(
    `${path}/:uuid`,
    route('deleteEperson', changes('administrator', 'none', 'unused', { to: 'delete epersons' })),
    async (request, reply) => {
      const caller = requireCaller(request.caller)
      const uuid = readUuid(request.params.uuid)
      const event = eventOf(caller, request, { event: 'eperson.delete', outcome: 'success' })
      const removed = uuid === undefined ? 'no-eperson' : await people.removeEperson(uuid, event)
      if (removed === 'no-eperson') throw noEperson()
      if (removed === 'last-administrator') throw lastAdministrator()
      return reply.code(204).send()
    },
  )
}

/**
 * `PATCH /api/eperson/epersons/{uuid}` of everything but a password: epersons change their own profile,
 * administrators everything of anyone (M2).
 */
export const createPatchEperson =
  ({ people, addresses, eventOf, asksAgreement }: Parts): PatchEperson =>
  async request => {
    const caller = requireCaller(request.caller)
    const uuid = readUuid((request.params as { uuid: string }).uuid)
    const isSelf = uuid === caller.session.eperson.uuid
    if (!isSelf && !isAdministrator(caller))
      throw new Problem(
        'access-denied',
        'Epersons may change only their own profile. Administrators may change any.',
      )
    const change = epersonChange(patchBody(request), isAdministrator(caller))
    const event = eventOf(caller, request, { event: 'eperson.change', outcome: 'success' })
    const changed = uuid === undefined ? 'no-eperson' : await people.changeEperson(uuid, change, event)
    if (changed === 'no-eperson') throw noEperson()
    if (changed === 'exists') throw known()
    if (changed === 'last-administrator') throw lastAdministrator()
    return epersonBody(changed, addresses, asksAgreement)
  }
