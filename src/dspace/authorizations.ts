import type { FastifyInstance, FastifyRequest } from 'fastify'
import { openRightTo, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, type Routes, routesOf } from '../http/contract.ts'
import { halPage, readPage } from '../http/hal.ts'
import { badParameter, type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { requireCaller } from '../http/require-caller.ts'
import { readUuid, uuidPattern } from '../lib/uuids.ts'
import { type Caller, isAdministrator, viewerOf, viewerOfSession } from '../model/caller.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import {
  type Feature,
  type FeatureParts,
  features,
  type Resource,
  type ResourceType,
  type Who,
} from './features.ts'

const route = contractsIn(() => import('./authorization-contracts.ts'))
const toAsking = reads(openRightTo('ask for the rights of the eperson'), 'none')
const toAnybody = reads('anybody', 'none')

interface Parts extends FeatureParts {
  readonly sessions: Sessions
  readonly addresses: Addresses
}

/** `[<eperson>_]<feature>_<type>_<uuid>` */
const authorizationId = new RegExp(`^(?:(${uuidPattern})_)?([A-Za-z]+)_([a-z]+)_(${uuidPattern})$`)

/** Paths of the objects of each kind below `/api`; the UUID follows. */
const pathOfType: Readonly<Record<ResourceType, string>> = {
  site: '/core/sites/',
  eperson: '/eperson/epersons/',
  group: '/eperson/groups/',
  item: '/core/items/',
  bundle: '/core/bundles/',
  bitstream: '/core/bitstreams/',
}
/** Maximum number of objects in a request; each is a look-up in the store. */
const maxResources = 200

const types = Object.keys(pathOfType) as ResourceType[]

/** Functions that the routes of authorizations share. */
function authorizationsIn({ addresses, ...parts }: Parts) {
  const authz = `${addresses.api}/authz`
  const authorizations = `${authz}/authorizations`
  const featureHref = (id: string) => `${authz}/features/${id}`
  const hrefOf = ({ type, uuid }: Resource) => `${addresses.api}${pathOfType[type]}${uuid}`

  function resourceAt(href: string): Resource[] {
    return types.flatMap(type => {
      const start = hrefOf({ type, uuid: '' })
      const uuid = href.startsWith(start) ? readUuid(href.slice(start.length)) : undefined
      return uuid === undefined ? [] : [{ type, uuid }]
    })
  }

  /**
   * Reads the parameters `uuid` and `type` (such as `core.bitstream` or `core.bitstreams`), the other way to
   * name objects.
   */
  function resourcesOf(query: Query): Resource[] {
    const name = single(query, 'type')
      ?.toLowerCase()
      .replace(/^\w+\.|s$/g, '')
    const type = types.find(one => one === name)
    const uuids = (query.values.get('uuid') ?? []).flatMap(one => readUuid(one) ?? [])
    return type === undefined ? [] : uuids.map(uuid => ({ type, uuid }))
  }

  const featureBody = ({ id, description, resourcetypes }: Feature) => ({
    id,
    description,
    resourcetypes,
    type: 'feature',
    _links: { self: { href: featureHref(id) } },
  })

  const authorizationBody = (feature: Feature, resource: Resource, eperson: string | undefined) => {
    const id = [...(eperson === undefined ? [] : [eperson]), feature.id, resource.type, resource.uuid].join(
      '_',
    )
    return {
      id,
      type: 'authorization',
      _links: {
        ...(eperson === undefined ? {} : { eperson: { href: addresses.eperson(eperson) } }),
        feature: { href: featureHref(feature.id) },
        object: { href: hrefOf(resource) },
        self: { href: `${authorizations}/${id}` },
      },
      _embedded: { feature: featureBody(feature) },
    }
  }

  /** @param wanted ids of features; empty for all of them */
  async function holding(
    caller: Caller,
    eperson: string | undefined,
    resources: readonly Resource[],
    wanted: readonly string[],
  ) {
    const who = await rightsOf(caller, eperson, parts.sessions)
    const asked = features.filter(({ id }) => wanted.length === 0 || wanted.includes(id))
    const held: ReturnType<typeof authorizationBody>[] = []
    for (const resource of resources)
      for (const feature of asked)
        if (feature.resourcetypes.includes(resource.type) && (await feature.may(who, resource, parts)))
          held.push(authorizationBody(feature, resource, eperson))
    return held
  }

  /** @param name of the search */
  async function searched({ caller, query }: FastifyRequest, name: string, resources: readonly Resource[]) {
    const asked = query as Query
    // DSpace's interface never names the eperson: it means its user, or the eperson that its user acts for (Z1).
    const eperson = single(asked, 'eperson')?.toLowerCase() ?? uuidOf(caller)
    const found = await holding(caller, eperson, resources, asked.values.get('feature') ?? [])
    return halPage('authorizations', found, readPage(asked), `${authorizations}/search/${name}`)
  }

  return { authz, authorizations, featureBody, holding, resourceAt, resourcesOf, searched }
}

/** @param eperson the eperson whose rights are asked for; undefined for an anonymous user */
async function rightsOf(caller: Caller, eperson: string | undefined, sessions: Sessions): Promise<Who> {
  if (eperson === undefined)
    return {
      administrator: false,
      self: null,
      // The special groups of an anonymous caller's address count.
      viewer: caller.kind === 'anonymous' ? viewerOf(caller) : viewerOfSession(undefined),
    }
  const asking = requireCaller(caller)
  if (eperson === asking.session.eperson.uuid)
    return {
      administrator: isAdministrator(caller),
      self: caller.kind === 'acting' ? null : asking.session.eperson,
      viewer: viewerOf(caller),
    }
  if (!isAdministrator(caller))
    throw new Problem(
      'access-denied',
      'Epersons may ask only about their own rights. Administrators may ask about anyone.',
    )
  const session = await sessions.of(eperson)
  return {
    administrator: session?.administrator === true,
    self: session?.eperson ?? null,
    viewer: viewerOfSession(session),
  }
}

/**
 * `GET /api/authz/…` (B1, Z1): rights of an eperson, or of an anonymous user, to an object. All
 * authorizations that hold are listed, and no others; an unknown feature or address has none.
 */
export function authorizationRoutes(app: FastifyInstance, parts: Parts): void {
  const routes = routesOf(app)
  const shared = authorizationsIn(parts)
  searchRoutes(routes, shared)
  linkRoutes(routes, shared)
}

type Shared = ReturnType<typeof authorizationsIn>

function searchRoutes(routes: Routes, { holding, resourceAt, resourcesOf, searched }: Shared): void {
  routes.get(
    '/authz/authorizations/search/object',
    route('searchAuthorizations', toAsking),
    async request => {
      const query = request.query as Query
      const uri = single(query, 'uri')
      if (!uri)
        throw badParameter('uri', '', 'The parameter uri is missing; it must be the address of an object.')
      single(query, 'feature')
      return searched(request, 'object', resourceAt(uri))
    },
  )

  routes.get(
    '/authz/authorizations/search/objects',
    route('searchAuthorizationsOfMany', toAsking),
    async request => {
      const query = request.query as Query
      const uris = query.values.get('uri') ?? []
      if (uris.length === 0 && !query.values.has('uuid'))
        throw badParameter(
          'uri',
          '',
          'The request names no object; give one or more addresses as uri, or a type and one or more uuid.',
        )
      const wanted = [...uris.flatMap(resourceAt), ...resourcesOf(query)]
      if (wanted.length > maxResources)
        throw badParameter(
          'uuid',
          String(wanted.length),
          `The request names ${wanted.length} objects; the maximum is ${maxResources}.`,
        )
      return searched(request, 'objects', wanted)
    },
  )

  routes.get<{ Params: { id: string } }>(
    '/authz/authorizations/:id',
    route('showAuthorization', toAsking),
    async ({ caller, params }) => {
      const [, eperson, feature = '', type, uuid = ''] = authorizationId.exec(params.id) ?? []
      const resources = types.filter(one => one === type).map(one => ({ type: one, uuid }))
      const [held] = await holding(caller, eperson, resources, [feature])
      if (!held) throw new Problem('not-found', 'There is no such authorization, or it does not hold.')
      return held
    },
  )
}

function linkRoutes(routes: Routes, { authz, authorizations, featureBody }: Shared): void {
  routes.get('/authz/authorizations', route('showAuthorizations', toAnybody), async () => ({
    _links: {
      search: { href: `${authorizations}/search` },
      self: { href: authorizations },
    },
  }))
  routes.get('/authz/authorizations/search', route('showAuthorizationSearches', toAnybody), async () => ({
    _links: {
      object: { href: `${authorizations}/search/object` },
      objects: { href: `${authorizations}/search/objects` },
      self: { href: `${authorizations}/search` },
    },
  }))

  routes.get('/authz/features', route('listFeatures', toAnybody), async request =>
    halPage('features', features.map(featureBody), readPage(request.query as Query), `${authz}/features`),
  )
  routes.get<{ Params: { id: string } }>(
    '/authz/features/:id',
    route('showFeature', toAnybody),
    async request => {
      const feature = features.find(({ id }) => id === request.params.id)
      if (!feature) throw new Problem('not-found', 'There is no feature with this id.')
      return featureBody(feature)
    },
  )
}

const uuidOf = (caller: Caller): string | undefined =>
  caller.kind === 'anonymous' ? undefined : caller.session.eperson.uuid
