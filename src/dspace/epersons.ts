import type { FastifyInstance } from 'fastify'
import type { Addresses } from '../http/addresses.ts'
import { halPage, readPage, single, withParameters } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { requireEperson } from '../http/require-eperson.ts'
import type { Eperson, Group } from '../model/accounts.ts'
import { type Caller, isAdministrator, isMember } from '../model/caller.ts'
import type { Accounts } from '../storage/accounts.ts'

/** An eperson as DSpace's clients know it. */
export const epersonBody = (eperson: Eperson, addresses: Addresses) => ({
  id: eperson.uuid,
  uuid: eperson.uuid,
  name: eperson.email,
  email: eperson.email,
  canLogIn: eperson.enabled,
  metadata: {
    ...metadata('eperson.firstname', eperson.firstName),
    ...metadata('eperson.lastname', eperson.lastName),
    // There is no agreement to sign here; DSpace's interface would ask for one at every login.
    ...metadata('dspace.agreements.end-user', 'true'),
  },
  type: 'eperson',
  _links: {
    groups: { href: `${addresses.eperson(eperson.uuid)}/groups` },
    self: { href: addresses.eperson(eperson.uuid) },
  },
})

const metadata = (key: string, value: string | null) =>
  value === null ? {} : { [key]: [{ value, language: null, authority: null, confidence: -1, place: 0 }] }

interface Parts {
  readonly accounts: Accounts
  readonly addresses: Addresses
}

/** A group as DSpace's clients know it. */
export const groupBody = ({ uuid, name }: Group, addresses: Addresses) => ({
  id: uuid,
  uuid,
  name,
  permanent: false,
  metadata: {},
  type: 'group',
  _links: { self: { href: addresses.group(uuid) } },
})

/** `GET /api/eperson/…` (S4): the own record and groups, or anybody's for an administrator. */
export function epersonRoutes(app: FastifyInstance, { accounts, addresses }: Parts): void {
  type Route = { Params: { uuid: string } }
  const url = '/eperson/epersons/:uuid'

  /** @throws Problem for whoever may not know, or where there is nobody */
  async function readable(caller: Caller, uuid: string): Promise<Eperson> {
    const asking = requireEperson(caller)
    const wanted = uuid.toLowerCase()
    if (wanted !== asking.session.eperson.uuid && !isAdministrator(caller))
      throw new Problem('access-denied', 'An eperson may read its own record; others are for administrators.')
    const eperson = await accounts.eperson(wanted)
    if (!eperson) throw new Problem('not-found', 'There is no eperson with this uuid.')
    return eperson
  }

  /** @throws Problem for everybody but administrators */
  function requireAdministrator(caller: Caller): void {
    requireEperson(caller)
    if (!isAdministrator(caller)) throw new Problem('access-denied', 'These lists are for administrators.')
  }
  app.get('/eperson/epersons', async request => {
    requireAdministrator(request.caller)
    const bodies = (await accounts.listEpersons()).map(one => epersonBody(one, addresses))
    return halPage('epersons', bodies, readPage(request.query as Query), `${addresses.api}/eperson/epersons`)
  })
  // How an administrator finds whom to act on behalf of.
  app.get('/eperson/epersons/search/byMetadata', async request => {
    requireAdministrator(request.caller)
    const query = request.query as Query
    const wanted = (single(query, 'query') ?? '').trim().toLowerCase()
    const found = (await accounts.listEpersons()).filter(
      ({ uuid, email, firstName, lastName }) =>
        uuid === wanted ||
        [email, firstName, lastName, `${firstName ?? ''} ${lastName ?? ''}`].some(text =>
          text?.toLowerCase().includes(wanted),
        ),
    )
    const self = withParameters(`${addresses.api}/eperson/epersons/search/byMetadata`, query, ['query'])
    return halPage(
      'epersons',
      found.map(one => epersonBody(one, addresses)),
      readPage(query),
      self,
    )
  })
  app.get('/eperson/epersons/search/byEmail', async (request, reply) => {
    requireAdministrator(request.caller)
    const wanted = (single(request.query as Query, 'email') ?? '').trim().toLowerCase()
    const found = (await accounts.listEpersons()).find(({ email }) => email.toLowerCase() === wanted)
    return found ? epersonBody(found, addresses) : reply.code(204).send()
  })
  app.get('/eperson/groups', async request => {
    requireAdministrator(request.caller)
    const bodies = (await accounts.listGroups()).map(one => groupBody(one, addresses))
    return halPage('groups', bodies, readPage(request.query as Query), `${addresses.api}/eperson/groups`)
  })

  app.get<Route>(url, async request =>
    epersonBody(await readable(request.caller, request.params.uuid), addresses),
  )
  app.get<Route>(`${url}/groups`, async request => {
    const { uuid } = await readable(request.caller, request.params.uuid)
    // Whoever is disabled has no session; its memberships show again when it is enabled.
    const groups = (await accounts.session(uuid))?.groups ?? []
    const bodies = groups.map(group => groupBody(group, addresses))
    return halPage('groups', bodies, readPage(request.query as Query), `${addresses.eperson(uuid)}/groups`)
  })
  app.get<Route>('/eperson/groups/:uuid', async request => {
    const caller = requireEperson(request.caller)
    const [group] = await accounts.groupsByUuid([request.params.uuid.toLowerCase()])
    // Who is not in a group doesn't learn whether there is one.
    if (group && (isAdministrator(caller) || isMember(caller, group.name))) return groupBody(group, addresses)
    throw isAdministrator(caller)
      ? new Problem('not-found', 'There is no group with this uuid.')
      : new Problem(
          'access-denied',
          'An eperson may read the groups that it is in; others are for administrators.',
        )
  })
}
