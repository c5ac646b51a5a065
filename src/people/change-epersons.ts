import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { contractsIn } from '../http/contract.ts'
import { jsonObject } from '../http/json-body.ts'
import { patchBody } from '../http/json-patch.ts'
import { hasMailToken } from '../http/mail-token.ts'
import { Problem } from '../http/problems.ts'
import { mayAdminister, requireAdministrator, requireEperson } from '../http/require-eperson.ts'
import { epersonBody } from '../http/resources/people.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Eperson } from '../model/accounts.ts'
import { isAdministrator } from '../model/caller.ts'
import type { People } from '../storage/people.ts'
import { epersonChange, newPerson } from './eperson-input.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly people: People
  readonly addresses: Addresses
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
  { people, addresses, asksAgreement, byMail }: Parts,
): void {
  const path = '/eperson/epersons'
  const mayAdd = mayAdminister('add epersons')
  const mayPost = async (request: FastifyRequest) => {
    if (!byMail || !hasMailToken(request)) await mayAdd(request)
  }
  app.post(path, { preParsing: mayPost, ...route('addEperson') }, async (request, reply) => {
    const registered = await byMail?.register(request)
    if (registered) return created(reply, registered)
    const caller = requireAdministrator(request.caller, 'add epersons')
    const event = eventOf(caller, request, { event: 'eperson.add', outcome: 'success' })
    const added = await people.createEperson({ ...newPerson(jsonObject(request)), passwordHash: null }, event)
    if (added === 'exists') throw known()
    return created(reply, added)
  })

  const created = (reply: FastifyReply, eperson: Eperson) =>
    reply
      .code(201)
      .header('location', addresses.eperson(eperson.uuid))
      .send(epersonBody(eperson, addresses, asksAgreement))

  app.delete<{ Params: { uuid: string } }>(
    `${path}/:uuid`,
    route('deleteEperson'),
    async (request, reply) => {
      const caller = requireAdministrator(request.caller, 'delete epersons')
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
  ({ people, addresses, asksAgreement }: Parts): PatchEperson =>
  async request => {
    const caller = requireEperson(request.caller)
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
