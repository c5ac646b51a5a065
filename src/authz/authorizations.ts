import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Caller, isAdministrator, requireEperson } from '../caller.ts'
import type { Addresses } from '../http/addresses.ts'
import { halPage, readPage, single } from '../http/hal.ts'
import { allowOnly } from '../http/methods.ts'
import { badParameter, type Query } from '../http/parameters.ts'
import { Problem } from '../problems.ts'
import type { Accounts } from '../storage/storage.ts'
import { type Feature, type FeatureConfig, features, type ResourceType, type Who } from './features.ts'

interface Parts {
  readonly accounts: Accounts
  readonly addresses: Addresses
  readonly config: FeatureConfig
}

/** Something that a client asks about, by its address. */
interface Resource {
  readonly type: ResourceType
  readonly uuid: string
  readonly href: string
}

/**
 * `GET /api/authz/…` (B1: «checked against the site»): what an eperson may do with something. Every authorization that
 * holds is listed, none that doesn't; a feature or an address that nobody knows has none.
 */
export function authorizationRoutes(app: FastifyInstance, { accounts, addresses, config }: Parts): void {
  const authz = `${addresses.api}/authz`
  const authorizations = `${authz}/authorizations`
  const featureHref = (id: string) => `${authz}/features/${id}`

  const addressesOf: Readonly<Record<ResourceType, string>> = {
    site: `${addresses.api}/core/sites/`,
    eperson: `${addresses.api}/eperson/epersons/`,
    group: `${addresses.api}/eperson/groups/`,
  }
  function resourceAt(href: string): Resource | undefined {
    for (const [type, start] of Object.entries(addressesOf) as [ResourceType, string][]) {
      const uuid = href.startsWith(start) ? href.slice(start.length) : ''
      if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid)) return { type, uuid, href }
    }
    return undefined
  }

  const featureBody = ({ id, description, resourcetypes }: Feature) => ({
    id,
    description,
    resourcetypes,
    type: 'feature',
    _links: { self: { href: featureHref(id) } },
  })

  const authorizationBody = (feature: Feature, resource: Resource, eperson: string | null) => {
    const id = [...(eperson === null ? [] : [eperson]), feature.id, resource.type, resource.uuid].join('_')
    return {
      id,
      type: 'authorization',
      _links: {
        ...(eperson === null ? {} : { eperson: { href: addresses.eperson(eperson) } }),
        feature: { href: featureHref(feature.id) },
        object: { href: resource.href },
        self: { href: `${authorizations}/${id}` },
      },
      _embedded: { feature: featureBody(feature) },
    }
  }

  /** @param eperson whose rights; a client may ask about itself, an administrator about anybody */
  async function rightsOf(caller: Caller, eperson: string | undefined): Promise<Who> {
    if (eperson === undefined) return null
    const asking = requireEperson(caller)
    if (eperson === asking.session.eperson.uuid) return { administrator: isAdministrator(caller) }
    if (!isAdministrator(caller))
      throw new Problem(
        'access-denied',
        'An eperson may ask about its own rights; others are for administrators.',
      )
    return (await accounts.session(eperson)) ?? null
  }

  async function holding(request: FastifyRequest, hrefs: readonly string[], wanted: readonly string[]) {
    const eperson = single(request.query as Query, 'eperson')?.toLowerCase()
    const who = await rightsOf(request.caller, eperson)
    return hrefs.flatMap(href => {
      const resource = resourceAt(href)
      if (!resource) return []
      return features
        .filter(({ id }) => wanted.length === 0 || wanted.includes(id))
        .filter(feature => feature.resourcetypes.includes(resource.type) && feature.may(who, config))
        .map(feature => authorizationBody(feature, resource, eperson ?? null))
    })
  }

  app.get('/authz/authorizations/search/object', async request => {
    const query = request.query as Query
    const uri = single(query, 'uri')
    if (!uri) throw badParameter('uri', '', 'The parameter uri must be the address of what is asked about.')
    const feature = single(query, 'feature')
    const found = await holding(request, [uri], feature === undefined ? [] : [feature])
    return halPage('authorizations', found, readPage(query), `${authorizations}/search/object`)
  })

  app.get('/authz/authorizations/search/objects', async request => {
    const query = request.query as Query
    const uris = query.values.get('uri') ?? []
    if (uris.length === 0)
      throw badParameter(
        'uri',
        '',
        'The parameter uri must be the address of what is asked about, once or more often.',
      )
    const found = await holding(request, uris, query.values.get('feature') ?? [])
    return halPage('authorizations', found, readPage(query), `${authorizations}/search/objects`)
  })

  app.get('/authz/authorizations', async () => ({
    _links: {
      search: { href: `${authorizations}/search` },
      self: { href: authorizations },
    },
  }))
  app.get('/authz/authorizations/search', async () => ({
    _links: {
      object: { href: `${authorizations}/search/object` },
      objects: { href: `${authorizations}/search/objects` },
      self: { href: `${authorizations}/search` },
    },
  }))

  app.get('/authz/features', async request =>
    halPage('features', features.map(featureBody), readPage(request.query as Query), `${authz}/features`),
  )
  app.get<{ Params: { id: string } }>('/authz/features/:id', async request => {
    const feature = features.find(({ id }) => id === request.params.id)
    if (!feature) throw new Problem('not-found', 'There is no feature of this name.')
    return featureBody(feature)
  })

  for (const url of [
    '/authz/authorizations',
    '/authz/authorizations/search',
    '/authz/authorizations/search/object',
    '/authz/authorizations/search/objects',
    '/authz/features',
    '/authz/features/:id',
  ])
    allowOnly(app, url, ['GET', 'HEAD'])
}
