import type { FastifyInstance } from 'fastify'
import { reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import type { Csrf } from '../http/csrf.ts'
import { findLinks } from '../items/find.ts'
import { emptyAnswerLinks } from './empty-answers.ts'

const route = contractsIn(() => import('./system-contracts.ts'))

/**
 * Registers the addresses where a client begins: the HAL root, the links of authentication, and the CSRF pair (P4, C3).
 */
export function rootRoutes(
  app: FastifyInstance,
  { addresses, csrf }: { addresses: Addresses; csrf: Csrf },
): void {
  const routes = routesOf(app)
  const root = rootOf(addresses)
  const authn = authnOf(addresses)
  routes.get('/', route('showRoot', reads('anybody', 'any')), async () => root)
  routes.get('/authn', route('showAuthn', reads('anybody', 'none')), async () => authn)
  routes.get('/security/csrf', route('issueCsrf', reads('anybody', 'any')), async (request, reply) => {
    csrf.issue(request, reply)
    return reply.code(204).send()
  })
}

const link = (href: string) => ({ href })

export const rootOf = (addresses: Addresses): object => ({
  type: 'root',
  _links: {
    ...emptyAnswerLinks(addresses),
    ...findLinks(addresses),
    actuator: link(addresses.api.replace(/\/api$/, '/actuator')),
    auditevents: link(`${addresses.api}/system/auditevents`),
    authn: link(addresses.authn),
    authorizations: link(`${addresses.api}/authz/authorizations`),
    bitstreamformats: link(`${addresses.api}/core/bitstreamformats`),
    bitstreams: link(`${addresses.api}/core/bitstreams`),
    bundles: link(`${addresses.api}/core/bundles`),
    csrf: link(addresses.csrf),
    epersons: link(`${addresses.api}/eperson/epersons`),
    features: link(`${addresses.api}/authz/features`),
    groups: link(`${addresses.api}/eperson/groups`),
    items: link(`${addresses.api}/core/items`),
    metadatafields: link(`${addresses.api}/core/metadatafields`),
    metadataschemas: link(`${addresses.api}/core/metadataschemas`),
    processes: link(`${addresses.api}/system/processes`),
    problems: link(`${addresses.api}/problems`),
    query: link(addresses.query),
    resourcepolicies: link(`${addresses.api}/authz/resourcepolicies`),
    registrations: link(`${addresses.api}/eperson/registrations`),
    scripts: link(`${addresses.api}/system/scripts`),
    sites: link(`${addresses.api}/core/sites`),
    systemwidealerts: link(`${addresses.api}/system/systemwidealerts`),
    uploads: link(`${addresses.api}/uploads`),
    self: link(addresses.api),
  },
})

const authnOf = (addresses: Addresses): object => ({
  type: 'authn',
  _links: {
    login: link(`${addresses.authn}/login`),
    logout: link(`${addresses.authn}/logout`),
    status: link(`${addresses.authn}/status`),
    shortlivedtokens: link(`${addresses.authn}/shortlivedtokens`),
    sessions: link(`${addresses.authn}/sessions`),
    tokens: link(`${addresses.authn}/tokens`),
    self: link(addresses.authn),
  },
})
