import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SpecialGroupConfig } from '../config/config.ts'
import { reads, rightTo } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, halPart, readPage, windowOf } from '../http/hal.ts'
import { badParameter, type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import type { LoggedIn } from '../http/require-caller.ts'
import { epersonBody, groupBody } from '../http/resources/people.ts'
import type { EpersonBody } from '../http/resources/schemas.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Eperson } from '../model/accounts.ts'
import { isAdministrator } from '../model/caller.ts'
import type { EpersonSearch } from '../model/people.ts'
import type { People } from './statements.ts'

const route = contractsIn(() => import('./contracts.ts'))
const toAdministrators = reads('administrator', 'people')
const toReaders = reads(rightTo('read the eperson'), 'people')

interface Parts {
  readonly people: People
  readonly addresses: Addresses
  readonly asksAgreement: boolean
  readonly config: SpecialGroupConfig
}

/** `GET /api/eperson/epersons…` (S4): the caller's own record and groups, or anyone's for an administrator. */
export function epersonRoutes(
  app: FastifyInstance,
  { addresses, people, asksAgreement, config }: Parts,
): void {
  const routes = routesOf(app)
  const path = '/eperson/epersons'
  const bodyOf = (one: Eperson) => epersonBody(one, addresses, asksAgreement)
  const url = `${path}/:uuid` as const
  const all = `${addresses.api}${path}`

  /** @throws Problem 403 for a caller who may not read the record, 404 if there is none */
  async function readable(caller: LoggedIn, uuid: string): Promise<Eperson> {
    const wanted = uuid.toLowerCase()
    if (wanted !== caller.session.eperson.uuid && !isAdministrator(caller))
      throw new Problem(
        'access-denied',
        'Epersons may read only their own record. Administrators may read any.',
      )
    const eperson = await people.eperson(wanted)
    if (!eperson) throw new Problem('not-found', 'There is no eperson with this UUID.')
    return eperson
  }

  async function page(request: FastifyRequest, search: EpersonSearch, self: string) {
    const asked = readPage(request.query as Query)
    const { rows, total } = await people.findEpersons(search, windowOf(asked), clientOf(request))
    const bodies = await listedBodies(people, rows, bodyOf)
    return halPart('epersons', bodies, total, asked, self)
  }

  routes.get(path, route('listEpersons', toAdministrators), async request => {
    return page(request, { text: '', membership: null }, all)
  })
  // The page for people begins with an empty query; administrators choose whom to impersonate there.
  routes.get(`${path}/search/byMetadata`, route('searchEpersons', toAdministrators), async request => {
    const text = searchText(request.query as Query)
    return page(request, { text, membership: null }, `${all}/search/byMetadata`)
  })
  // The page of a group searches its members, and epersons to add. Only direct members count.
  for (const [name, is] of [
    ['isMemberOf', true],
    ['isNotMemberOf', false],
  ] as const)
    routes.get(
      `${path}/search/${name}`,
      route(is ? 'searchMembers' : 'searchOthers', toAdministrators),
      async request => {
        const query = request.query as Query
        const membership = { group: groupParameter(query), is }
        return page(request, { text: searchText(query), membership }, `${all}/search/${name}`)
      },
    )
  routes.get(
    `${path}/search/byEmail`,
    route('findEpersonByEmail', toAdministrators),
    async (request, reply) => {
      const known = await people.credentials((single(request.query as Query, 'email') ?? '').trim())
      const found = known && (await people.eperson(known.uuid))
      return found ? bodyOf(found) : reply.code(204).send()
    },
  )

  routes.get(url, route('showEperson', toReaders), async request =>
    bodyOf(await readable(request.caller, request.params.uuid)),
  )
  routes.get(`${url}/groups`, route('listGroupsOfEperson', toReaders), async request => {
    const { uuid } = await readable(request.caller, request.params.uuid)
    const bodies = (await people.groupsOf(uuid)).map(group => groupBody(group, { addresses, config }))
    return halPage('groups', bodies, readPage(request.query as Query), `${addresses.eperson(uuid)}/groups`)
  })
}

/** Bodies for a list that only administrators read, with facts about each account (S4). */
export async function listedBodies(
  people: People,
  rows: readonly Eperson[],
  bodyOf: (one: Eperson) => EpersonBody,
): Promise<readonly EpersonBody[]> {
  const standings = new Map(
    (await people.standings(rows.map(({ uuid }) => uuid))).map(({ uuid, factors, ...one }) => [
      uuid,
      { ...one, factors: [...factors] },
    ]),
  )
  return rows.map(one => ({ ...bodyOf(one), ...standings.get(one.uuid) }))
}

/** Reads the parameter `group`. @throws Problem 400 for a value that isn't a UUID */
export function groupParameter(query: Query): string {
  const given = single(query, 'group') ?? ''
  const uuid = readUuid(given)
  if (uuid === undefined)
    throw badParameter('group', given, 'The parameter group must be the UUID of a group.')
  return uuid
}

/** Reads the parameter `query`: part of a name or an email address, or a whole UUID. */
export const searchText = (query: Query): string => (single(query, 'query') ?? '').trim().toLowerCase()
