import type { FastifyInstance, FastifyRequest } from 'fastify'
import { accessTokenBody } from '../authn/access-token-routes.ts'
import { eventOf } from '../authn/audit.ts'
import type { Config } from '../config/config.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn } from '../http/contract.ts'
import { halPage, readPage } from '../http/hal.ts'
import { ignoreBody } from '../http/ignore-body.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { readUuid } from '../lib/uuids.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { AccessTokens } from '../storage/access-tokens.ts'
import type { Accounts } from '../storage/accounts.ts'
import type { Identities } from '../storage/identities.ts'
import type { Secrets } from '../storage/secrets.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly accessTokens: Pick<AccessTokens, 'list'>
  readonly accounts: Pick<Accounts, 'eperson' | 'logoutAll'>
  readonly addresses: Addresses
  readonly config: Pick<Config, 'tokenSecrets'>
  readonly identities: Pick<Identities, 'listIdentities' | 'unlink'>
  readonly secrets: Pick<Secrets, 'rotate'>
}

/** What an operator does about everybody's logins (OP5). */
export function upkeepRoutes(app: FastifyInstance, parts: Parts): void {
  const { accessTokens, accounts, addresses, config, identities, secrets } = parts
  const options = { preParsing: ignoreBody }
  const eventFor = (request: FastifyRequest, event: AuditEvent['event'], object?: string): AuditEvent =>
    // About nobody in particular.
    ({
      ...eventOf(request.caller, request, {
        event,
        outcome: 'success',
        ...(object !== undefined && { object }),
      }),
      eperson: null,
    })

  app.get('/tokens', route('listAllAccessTokens'), async request => {
    const all = await accessTokens.list(null)
    const page = halPage('tokens', all, readPage(request.query as Query), `${addresses.api}/admin/tokens`)
    const bodies = (page._embedded.tokens ?? []).map(one => ({
      ...accessTokenBody(one, `${addresses.eperson(one.eperson)}/tokens/${one.id}`),
      eperson: one.eperson,
    }))
    return { ...page, _embedded: { tokens: bodies } }
  })

  app.delete('/sessions', { ...options, ...route('endAllSessions') }, async (request, reply) => {
    await accounts.logoutAll(eventFor(request, 'session.end', 'everybody'), Date.now())
    return reply.code(204).send()
  })

  app.post('/secret/rotate', { ...options, ...route('rotateSecret') }, async request => {
    if (config.tokenSecrets.length > 0)
      throw new Problem(
        'secret-set',
        'CARREL_TOKEN_SECRET sets the secret. The operator writes a new one and a comma before the old one there.',
      )
    return { accepted: await secrets.rotate(eventFor(request, 'secret.rotate')) }
  })

  const list = `${addresses.api}/admin/sso/identities`
  app.get('/sso/identities', route('listIdentities'), async request =>
    halPage('identities', await identities.listIdentities(), readPage(request.query as Query), list),
  )
  app.delete<{ Params: { provider: string; uuid: string } }>(
    '/sso/identities/:provider/:uuid',
    { ...options, ...route('unlinkIdentity') },
    async (request, reply) => {
      const { provider, uuid } = request.params
      const eperson = await accounts.eperson(readUuid(uuid) ?? '')
      const changed =
        eperson &&
        (await identities.unlink(eperson.email, provider, eventFor(request, 'eperson.unlink', provider)))
      if (changed !== 'changed')
        throw new Problem('not-found', 'No eperson with this UUID has an identity at this provider.')
      return reply.code(204).send()
    },
  )
}
