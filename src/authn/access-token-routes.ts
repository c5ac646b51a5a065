import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { changes, jsonOf, reads, refusesShortLived } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { halPage, readPage } from '../http/hal.ts'
import { jsonBody } from '../http/json-body.ts'
import type { Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import {
  type AccessToken,
  maxAccessTokens,
  newAccessToken,
  shownAccessToken,
} from '../model/access-tokens.ts'
import type { Authenticated } from '../model/caller.ts'
import type { AccessTokens } from '../storage/statements/access-tokens.ts'
import type { Clock } from '../storage/storage.ts'
import { readToken } from './new-access-token.ts'
import type { SecondFactor } from './second-factor.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly accessTokens: AccessTokens
  readonly addresses: Addresses
  readonly clock: Clock
  readonly config: Pick<Config, 'accessTokenLifetime'>
  readonly factorParts: { readonly secondFactor: SecondFactor }
}

const inWords = (time: number) => new Date(time).toISOString()

/** An access token as its owner sees it, without its secret. */
export const accessTokenBody = (token: AccessToken, self: string) => ({
  id: token.id,
  name: token.name,
  prefix: shownAccessToken(token.id),
  ...token.scope,
  networks: token.networks,
  created: inWords(token.created),
  expires: inWords(token.expires),
  lastUsed: token.used === null ? null : inWords(token.used),
  type: 'accesstoken',
  _links: { self: { href: self } },
})

/** `/api/authn/tokens`: the caller's own access tokens (K1, K5). */
export function accessTokenRoutes(
  app: FastifyInstance,
  { accessTokens, addresses, clock, config, factorParts }: Parts,
): void {
  const all = `${addresses.authn}/tokens`
  const bodyOf = (token: AccessToken) => accessTokenBody(token, `${all}/${token.id}`)
  const ownOf = async ({ session }: Authenticated) => accessTokens.list(session.eperson.uuid)

  routesOf(app).get(
    '/tokens',
    route('listAccessTokens', refusesShortLived(reads('eperson', 'none', { onBehalf: 'refused' }))),
    async request =>
      halPage('tokens', (await ownOf(request.caller)).map(bodyOf), readPage(request.query as Query), all),
  )

  routesOf(app).post(
    '/tokens',
    route('addAccessToken', changes('eperson', 'none', jsonOf(), { onBehalf: 'refused' })),
    async (request, reply) => {
      const { caller } = request
      if (config.accessTokenLifetime === 0)
        throw new Problem(
          'access-denied',
          'This service has no access tokens (CARREL_ACCESS_TOKEN_LIFETIME is 0).',
        )
      factorParts.secondFactor.requireForTokens(caller)
      const now = clock.now()
      const wanted = await readToken(jsonBody(request), { now, longest: config.accessTokenLifetime * 1000 })
      const { id, token, hash } = newAccessToken()
      const added = { ...wanted, id, hash, eperson: caller.session.eperson.uuid, created: now }
      const event = eventOf(caller, request, { event: 'token.add', outcome: 'success', object: id })
      const outcome = await accessTokens.add(added, event)
      if (outcome === 'name-taken')
        throw new Problem('access-token-invalid', 'name must be one that no other access token of yours has.')
      if (outcome === 'too-many')
        throw new Problem(
          'access-token-invalid',
          `There are ${maxAccessTokens} access tokens of yours already. Revoke one that you don’t need.`,
        )
      if (outcome === 'no-eperson') throw new Problem('authentication-required', 'The eperson is gone.')
      const body = bodyOf({ ...added, used: null })
      return reply
        .code(201)
        .header('location', body._links.self.href)
        .send({ token, ...body })
    },
  )

  routesOf(app).get(
    '/tokens/:id',
    route('showAccessToken', refusesShortLived(reads('eperson', 'none', { onBehalf: 'refused' }))),
    async request => {
      const found = (await ownOf(request.caller)).find(({ id }) => id === request.params.id)
      if (!found) throw noToken()
      return bodyOf(found)
    },
  )

  routesOf(app).delete(
    '/tokens/:id',
    route('revokeAccessToken', changes('eperson', 'none', 'unused', { onBehalf: 'refused' })),
    async (request, reply) => {
      const { caller } = request
      const { id } = request.params
      const event = eventOf(caller, request, { event: 'token.revoke', outcome: 'success', object: id })
      // The response waits until the revocation is on disk. From then on, no node accepts the token.
      if (!(await accessTokens.revoke(id, caller.session.eperson.uuid, event))) throw noToken()
      return reply.code(204).send()
    },
  )
}

const noToken = () => new Problem('not-found', 'There is no access token of yours with this id.')
