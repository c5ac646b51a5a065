import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, readPage, selfOf } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import type { Metadata } from '../model/items.ts'
import { metadataBody, siteTag } from './bodies.ts'
import type { Repository } from './statements/repository.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Pick<Addresses, 'api'>
  readonly config: Pick<Config, 'baseUrl' | 'realm'>
  readonly repository: Pick<Repository, 'site'>
}

/**
 * `GET /api/core/sites` (S11): the service itself, as an object of authorizations, with the texts that
 * administrators write for DSpace's interface. There is exactly one, and anyone may read all of it.
 */
export function siteRoutes(app: FastifyInstance, parts: Parts): void {
  const routes = routesOf(app)
  const { repository } = parts
  const site = describeSite(parts)
  routes.get('/core/sites', route('listSites', reads('anybody', 'any')), async request => {
    const { metadata } = await repository.site()
    return halPage('sites', [site.body(metadata)], readPage(request.query as Query), site.all)
  })
  routes.get<{ Params: { uuid: string } }>(
    '/core/sites/:uuid',
    route('showSite', reads('anybody', 'any')),
    async (request, reply) => {
      site.require(request.params.uuid)
      const { metadata } = await repository.site()
      const body = site.body(metadata)
      // The interface asks for a projection, and warns if the link `self` doesn't have it.
      const self = selfOf(body._links.self.href, request.query as Query)
      return reply.header('etag', siteTag(metadata)).send({ ...body, _links: { self } })
    },
  )
}

/** Makes the body, the address and the UUID of the site. */
export function describeSite({ addresses, config }: Pick<Parts, 'addresses' | 'config'>) {
  const all = `${addresses.api}/core/sites`
  const uuid = siteUuid(config.baseUrl)
  return {
    all,
    uuid,
    body: (metadata: Metadata) => ({
      id: uuid,
      uuid,
      name: config.realm,
      handle: null,
      metadata: metadataBody(metadata),
      type: 'site',
      _links: { self: { href: `${all}/${uuid}` } },
    }),
    /** @throws Problem 404 for any other UUID */
    require: (given: string): void => {
      if (given.toLowerCase() === uuid) return
      throw new Problem('not-found', `There is no site with this UUID; the only one is listed at ${all}.`)
    },
  }
}

/** Makes a name-based UUID (RFC 9562 §5.8) of the public address: the same on every node and after every start. */
export function siteUuid(baseUrl: string): string {
  const hex = hash('sha256', `carrel/site/${baseUrl}`)
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}
