import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { passwordFault } from '../authn/password-rules.ts'
import type { Passwords } from '../authn/passwords.ts'
import { changes, jsonOf, openRightTo } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { jsonObject } from '../http/json-body.ts'
import { Problem } from '../http/problems.ts'
import { requireAdministrator } from '../http/require-caller.ts'
import { epersonBody } from '../http/resources/people.ts'
import type { Client } from '../lib/fair-queue.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Eperson } from '../model/accounts.ts'
import { newPerson, passwordIn } from './eperson-input.ts'
import { hasMailToken, mailEvent, mailToken, type Registrations } from './registrations.ts'
import type { People } from './statements.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly people: People
  readonly addresses: Addresses
  readonly passwords: Passwords
  readonly asksAgreement: boolean
  /** Undefined if the service sends no mail. */
  readonly registrations: Registrations | undefined
}

export const lastAdministrator = () =>
  new Problem(
    'change-refused',
    'Nobody could administer the service any more: this is the last administrator.',
  )
export const noEperson = () => new Problem('not-found', 'There is no eperson with this UUID.')
export const known = () =>
  new Problem('change-refused', 'There is an eperson with this email address already.')

/** `POST /api/eperson/epersons` and `DELETE …/{uuid}`, for administrators (M1, M3). */
export function changeEpersonRoutes(
  app: FastifyInstance,
  { people, addresses, passwords, asksAgreement, registrations }: Parts,
): void {
  const path = '/eperson/epersons'
  // The body of others is never parsed.
  const mayPost = async (request: FastifyRequest) => {
    if (!registrations || !hasMailToken(request)) requireAdministrator(request.caller, 'add epersons')
  }
  const right = openRightTo(
    'add epersons: administrators, or the owner of an address with the token of a mail',
  )
  routesOf(app).post(
    path,
    { preParsing: mayPost, ...route('addEperson', changes(right, 'none', jsonOf())) },
    async (request, reply) => {
      const token = registrations && mailToken(request)
      if (registrations && token !== undefined)
        return created(reply, await register(request, registrations, token))
      const caller = requireAdministrator(request.caller, 'add epersons')
      const event = eventOf(caller, request, { event: 'eperson.add', outcome: 'success' })
      const { password, ...body } = jsonObject(request)
      const person = newPerson(body)
      const passwordHash = await hashOf(password, person.email, clientOf(request))
      const added = await people.createEperson({ ...person, passwordHash }, event)
      if (added === 'exists') throw known()
      return created(reply, added)
    },
  )

  /** Hashes the password of a new account before there is one, so that a refusal leaves nothing (M1). */
  async function hashOf(given: unknown, email: string, client: Client): Promise<string | null> {
    if (given === undefined || given === null) return null
    const password = passwordIn('password', given, 'The body')
    const fault = await passwordFault(password, email)
    if (fault !== undefined) throw new Problem('password-refused', `The password ${fault}.`)
    return passwords.hash(password, client)
  }

  const created = (reply: FastifyReply, eperson: Eperson) =>
    reply
      .code(201)
      .header('location', addresses.eperson(eperson.uuid))
      .send(epersonBody(eperson, addresses, asksAgreement))

  routesOf(app).delete(
    `${path}/:uuid`,
    route('deleteEperson', changes('administrator', 'none', 'unused', { to: 'delete epersons' })),
    async (request, reply) => {
      const uuid = readUuid(request.params.uuid)
      const event = eventOf(request.caller, request, { event: 'eperson.delete', outcome: 'success' })
      const removed = uuid === undefined ? 'no-eperson' : await people.removeEperson(uuid, event)
      if (removed === 'no-eperson') throw noEperson()
      if (removed === 'last-administrator') throw lastAdministrator()
      return reply.code(204).send()
    },
  )
}

/** Adds the owner of an email address, who has the token of a mail (docs/decisions/0045). */
async function register(
  request: FastifyRequest,
  registrations: Registrations,
  token: string,
): Promise<Eperson> {
  const { password, email, ...body } = jsonObject(request)
  const person = newPerson({ ...body, email: email ?? (await registrations.addressOf(token)) })
  return registrations.register(
    token,
    { ...person, password: passwordIn('password', password, 'The body') },
    clientOf(request),
    mailEvent(request, 'eperson.add'),
  )
}
