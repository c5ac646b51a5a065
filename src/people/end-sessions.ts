import type { FastifyInstance, FastifyRequest } from 'fastify'
import { accessTokenBody } from '../authn/access-token-routes.ts'
import { changes, reads, refusesShortLived } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, readPage } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { AccessTokens } from '../storage/statements/access-tokens.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { People } from './statements.ts'

const route = contractsIn(() => import('./contracts.ts'))
const to = 'see or end the logins of others'
const byAdministrators = changes('administrator', 'none', 'ignored', { to })

interface Parts {
  readonly accessTokens: AccessTokens
  readonly people: People
  readonly sessions: Sessions
  readonly addresses: Addresses
}

/** Administrators end all sessions of an eperson, and list and revoke an eperson's access tokens (N5, K6). */
export function endSessionsRoutes(
  app: FastifyInstance,
  { accessTokens, people, sessions, addresses }: Parts,
): void {
  const routes = routesOf(app)
  type Route = { Params: { uuid: string } }
  const url = '/eperson/epersons/:uuid'

  async function wanted({ params }: FastifyRequest<Route>): Promise<string> {
    const eperson = await people.eperson(params.uuid.toLowerCase())
    if (!eperson) throw new Problem('not-found', 'There is no eperson with this UUID.')
    return eperson.uuid
  }
  const about = (
    request: FastifyRequest,
    eperson: string,
    event: AuditEvent['event'],
    object: string,
  ): AuditEvent => ({ ...eventOf(request.caller, request, { event, outcome: 'success', object }), eperson })

  routes.delete(`${url}/sessions`, route('endSessionsOf', byAdministrators), async (request, reply) => {
    const uuid = await wanted(request)
    await sessions.logout(uuid, about(request, uuid, 'session.end', 'all'))
    return reply.code(204).send()
  })
  routes.get(
    `${url}/tokens`,
    route('listAccessTokensOf', refusesShortLived(reads('administrator', 'people', { to }))),
    async request => {
      const uuid = await wanted(request)
      const self = `${addresses.eperson(uuid)}/tokens`
      const tokens = (await accessTokens.list(uuid)).map(one => accessTokenBody(one, `${self}/${one.id}`))
      return halPage('tokens', tokens, readPage(request.query as Query), self)
    },
  )
  routes.delete(`${url}/tokens`, route('revokeAccessTokensOf', byAdministrators), async (request, reply) => {
    const uuid = await wanted(request)
    await accessTokens.revokeAll(uuid, about(request, uuid, 'token.revoke', 'all'))
    return reply.code(204).send()
  })
  routes.delete(
    `${url}/tokens/:id`,
    route('revokeAccessTokenOf', byAdministrators),
    async (request, reply) => {
      const uuid = await wanted(request)
      const { id } = request.params
      if (!(await accessTokens.revoke(id, uuid, about(request, uuid, 'token.revoke', id))))
        throw new Problem('not-found', 'The eperson has no access token with this id.')
      return reply.code(204).send()
    },
  )
}
