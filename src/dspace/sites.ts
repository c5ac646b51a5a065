import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn } from '../http/contract.ts'
import { halPage, readPage } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'

const route = contractsIn(() => import('./item-contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly config: Pick<Config, 'baseUrl' | 'realm'>
}

/** `GET /api/core/sites`: the service itself, as an object of authorizations. There is exactly one. */
export function siteRoutes(app: FastifyInstance, { addresses, config }: Parts): void {
  const sites = `${addresses.api}/core/sites`
  const uuid = siteUuid(config.baseUrl)
  const site = {
    id: uuid,
    uuid,
    name: config.realm,
    handle: null,
    metadata: {},
    type: 'site',
    _links: { self: { href: `${sites}/${uuid}` } },
  }
  app.get('/core/sites', route('listSites'), async request =>
    halPage('sites', [site], readPage(request.query as Query), sites),
  )
  app.get<{ Params: { uuid: string } }>('/core/sites/:uuid', route('showSite'), async request => {
    if (request.params.uuid.toLowerCase() !== uuid)
      throw new Problem('not-found', `There is no site with this UUID; the only one is listed at ${sites}.`)
    return site
  })
}

/** A name-based UUID (RFC 9562 §5.8) of the public address: the same on every node and after every start. */
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
