import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SpecialGroupConfig } from '../config/config.ts'
import { reads, rightTo } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, halPart, readPage, windowOf } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { epersonBody, groupBody } from '../http/resources/people.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Eperson, Group } from '../model/accounts.ts'
import { type Caller, isAdministrator, isMember } from '../model/caller.ts'
import type { GroupSearch } from '../model/people.ts'
import { openGroup, withOpenGroups } from '../model/readers.ts'
import { groupParameter, listedBodies, searchText } from './epersons.ts'
import type { People } from './statements.ts'

const route = contractsIn(() => import('./contracts.ts'))
const toAdministrators = reads('administrator', 'people')
const toReaders = reads(rightTo('read the group'), 'people')

interface Parts {
  readonly people: People
  readonly addresses: Addresses
  readonly asksAgreement: boolean
  readonly config: SpecialGroupConfig
}

/**
 * `GET /api/eperson/groups…`: the groups that the caller is in, or all of them for an administrator. The page
 * for groups of DSpace's interface (groups-registry.component.ts) searches with an empty query, then follows
 * `epersons`, `subgroups` and `object` of every group, and shows a spinner until each of them has answered.
 */
export function groupRoutes(app: FastifyInstance, { addresses, people, asksAgreement, config }: Parts): void {
  const routes = routesOf(app)
  const path = '/eperson/groups'
  const url = `${path}/:uuid` as const
  const all = `${addresses.api}${path}`

  /**
   * @param withOpen true to add the open groups, which are no groups of the store, for a client that looks for readers
   */
  async function page(
    request: FastifyRequest,
    self: string,
    text: string,
    { inside = null, withOpen = false }: { inside?: GroupSearch['inside']; withOpen?: boolean } = {},
  ) {
    const asked = readPage(request.query as Query)
    const found = await people.findGroups({ text, inside }, windowOf(asked), clientOf(request))
    const { rows, total } = withOpen ? withOpenGroups(text, windowOf(asked), found) : found
    const bodies = rows.map(one => groupBody(one, { addresses, config }))
    return halPart('groups', bodies, total, asked, self)
  }

  routes.get(path, route('listGroups', toAdministrators), async request => {
    return page(request, all, '')
  })
  routes.get(`${path}/search/byMetadata`, route('searchGroups', toAdministrators), async request => {
    const query = request.query as Query
    return page(request, `${all}/search/byMetadata`, searchText(query), { withOpen: true })
  })
  // The page of a group offers these as subgroups.
  routes.get(`${path}/search/isNotMemberOf`, route('searchOtherGroups', toAdministrators), async request => {
    const query = request.query as Query
    return page(request, `${all}/search/isNotMemberOf`, searchText(query), {
      inside: { group: groupParameter(query), is: false },
    })
  })

  routes.get(url, route('showGroup', toReaders), async request =>
    groupBody(await readableGroup(people, request.caller, request.params.uuid), { addresses, config }),
  )
  routes.get(`${url}/epersons`, route('listMembers', toAdministrators), async request => {
    const { uuid } = await readableGroup(people, request.caller, request.params.uuid)
    const asked = readPage(request.query as Query)
    const members = { text: '', membership: { group: uuid, is: true } }
    const { rows, total } = await people.findEpersons(members, windowOf(asked), clientOf(request))
    const bodyOf = (one: Eperson) => epersonBody(one, addresses, asksAgreement)
    const bodies = await listedBodies(people, rows, bodyOf)
    return halPart('epersons', bodies, total, asked, `${addresses.group(uuid)}/epersons`)
  })
  routes.get(`${url}/subgroups`, route('listSubgroups', toReaders), async request => {
    const { uuid } = await readableGroup(people, request.caller, request.params.uuid)
    const self = `${addresses.group(uuid)}/subgroups`
    // Members may read a group, but not who else is in it.
    if (!isAdministrator(request.caller)) return halPage('groups', [], readPage(request.query as Query), self)
    return page(request, self, '', { inside: { group: uuid, is: true } })
  })
  // In DSpace, this is the community or collection that a group was made for.
  routes.get(`${url}/object`, route('showObjectOfGroup', toReaders), async (request, reply) => {
    await readableGroup(people, request.caller, request.params.uuid)
    return reply.code(204).send()
  })
}

/** @throws Problem 403 for a caller who may not read the group, 404 if there is none */
async function readableGroup(people: People, caller: Caller, uuid: string): Promise<Group> {
  const wanted = readUuid(uuid)
  const open = wanted === undefined ? undefined : openGroup(wanted)
  if (open) return open
  const group = wanted === undefined ? undefined : await people.group(wanted)
  if (group && (isAdministrator(caller) || isMember(caller, group.name))) return group
  // Other callers must not learn whether there is such a group.
  throw isAdministrator(caller)
    ? new Problem('not-found', 'There is no group with this UUID.')
    : new Problem(
        'access-denied',
        'Epersons may read only the groups that they are in. Administrators may read any.',
      )
}
