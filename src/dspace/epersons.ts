import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Addresses } from '../http/addresses.ts'
import { clientOf } from '../http/client.ts'
import { halPage, halPart, readPage, windowOf, withParameters } from '../http/hal.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { requireAdministrator, requireEperson } from '../http/require-eperson.ts'
import type { Eperson, Group } from '../model/accounts.ts'
import { type Caller, isAdministrator } from '../model/caller.ts'
import type { Accounts, EpersonSearch } from '../storage/accounts.ts'

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
    // Without this, DSpace's interface asks for an end user agreement at every login.
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

/** A group as DSpace's clients know it. */
export function groupBody({ uuid, name }: Group, addresses: Addresses) {
  const self = addresses.group(uuid)
  return {
    id: uuid,
    uuid,
    name,
    permanent: false,
    metadata: {},
    type: 'group',
    _links: {
      epersons: { href: `${self}/epersons` },
      object: { href: `${self}/object` },
      self: { href: self },
      subgroups: { href: `${self}/subgroups` },
    },
  }
}

interface Parts {
  readonly accounts: Accounts
  readonly addresses: Addresses
}

/** `GET /api/eperson/epersons…` (S4): the caller's own record and groups, or anybody's for an administrator. */
export function epersonRoutes(app: FastifyInstance, { accounts, addresses }: Parts): void {
  type Route = { Params: { uuid: string } }
  const path = '/eperson/epersons'
  const url = `${path}/:uuid`
  const all = `${addresses.api}${path}`

  /** @throws Problem 401 or 403 for a caller who may not read the record, 404 where there is none */
  async function readable(caller: Caller, uuid: string): Promise<Eperson> {
    const asking = requireEperson(caller)
    const wanted = uuid.toLowerCase()
    if (wanted !== asking.session.eperson.uuid && !isAdministrator(caller))
      throw new Problem(
        'access-denied',
        'Epersons may read only their own record. Administrators may read any.',
      )
    const eperson = await accounts.eperson(wanted)
    if (!eperson) throw new Problem('not-found', 'There is no eperson with this UUID.')
    return eperson
  }

  /** @param parameters those that select who is on the page */
  async function page(
    request: FastifyRequest,
    membership: EpersonSearch['membership'],
    self: string,
    parameters: readonly string[],
  ) {
    const query = request.query as Query
    const asked = readPage(query)
    const text = parameters.includes('query') ? searchText(query) : ''
    const { rows, total } = await accounts.findEpersons(
      { text, membership },
      windowOf(asked),
      clientOf(request),
    )
    const bodies = rows.map(one => epersonBody(one, addresses))
    return halPart('epersons', bodies, total, asked, withParameters(self, query, parameters))
  }

  app.get(path, async request => {
    requireAdministrator(request.caller)
    return page(request, null, all, [])
  })
  // The page for people searches with an empty query; "Impersonate" begins there.
  app.get(`${path}/search/byMetadata`, async request => {
    requireAdministrator(request.caller)
    return page(request, null, `${all}/search/byMetadata`, ['query'])
  })
  // The page of a group offers these as new members.
  app.get(`${path}/search/isNotMemberOf`, async request => {
    requireAdministrator(request.caller)
    const group = (single(request.query as Query, 'group') ?? '').toLowerCase()
    return page(request, { group, is: false }, `${all}/search/isNotMemberOf`, ['query', 'group'])
  })
  app.get(`${path}/search/byEmail`, async (request, reply) => {
    requireAdministrator(request.caller)
    const known = await accounts.credentials((single(request.query as Query, 'email') ?? '').trim())
    const found = known && (await accounts.eperson(known.uuid))
    return found ? epersonBody(found, addresses) : reply.code(204).send()
  })

  app.get<Route>(url, async request =>
    epersonBody(await readable(request.caller, request.params.uuid), addresses),
  )
  app.get<Route>(`${url}/groups`, async request => {
    const { uuid } = await readable(request.caller, request.params.uuid)
    // A disabled eperson has no session; their groups show again when they are enabled.
    const groups = (await accounts.session(uuid))?.groups ?? []
    const bodies = groups.map(group => groupBody(group, addresses))
    return halPage('groups', bodies, readPage(request.query as Query), `${addresses.eperson(uuid)}/groups`)
  })
}

/** The parameter `query`: part of a name or an email address, or a whole UUID. */
export const searchText = (query: Query): string => (single(query, 'query') ?? '').trim().toLowerCase()
