import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Tickets } from '../authn/tickets.ts'
import type { SingleSignOnConfig } from '../config/providers.ts'
import { reads } from '../http/access.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import type { ProviderSession } from '../model/identities.ts'
import type { Identities } from '../storage/identities.ts'
import type { SignOnAddresses } from './addresses.ts'
import { oidcLogoutRoutes } from './oidc-logouts.ts'
import { Refused, Unavailable } from './protocol.ts'
import type { ProviderLogins } from './provider-logins.ts'
import type { OidcProvider, Provider } from './providers.ts'
import { noteRefusal } from './refusals.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: SignOnAddresses
  readonly config: SingleSignOnConfig
  readonly logins: ProviderLogins
  readonly providers: readonly Provider[]
  readonly identities: Identities
  readonly tickets: Tickets
}

/** Single logout: the way to the provider's own logout, and OpenID Connect's logout (docs/decisions/0010). */
export function providerLogoutRoutes(app: FastifyInstance, parts: Parts): void {
  const { addresses, config, logins, providers, identities, tickets } = parts

  /** Browsers come here after POST logout, with the cookie that it set. */
  routesOf(app).get(
    '/sso/logout',
    { config: { isPage: true, ...route('logOutAtProvider', reads('anybody', 'none')).config } },
    async (request, reply) => {
      const session = await logins.takeLogout(request, reply)
      const url = session && (await logoutUrlAt(session, request))
      return reply.redirect(url ?? config.defaultRedirectUrl, 303)
    },
  )
  routesOf(app).get(
    '/sso/logout/done',
    route('showLoggedOut', reads('anybody', 'none')),
    async (_request, reply) => reply.redirect(config.defaultRedirectUrl, 303),
  )

  async function logoutUrlAt(session: ProviderSession, request: FastifyRequest): Promise<string | undefined> {
    const provider = providers.find(one => one.config.id === session.provider)
    if (!provider) return undefined
    if (provider.kind === 'proxy')
      return provider.config.logoutUrl?.replaceAll('{target}', encodeURIComponent(addresses.afterLogout))
    try {
      return await provider.protocol.logoutUrl(session)
    } catch (error) {
      // The session here has ended; the log says that the provider's has not.
      if (!(error instanceof Refused) && !(error instanceof Unavailable)) throw error
      noteRefusal(request.log, session.provider, `its logout cannot be reached: ${error.message}`)
      return undefined
    }
  }

  for (const provider of providers.filter((one): one is OidcProvider => one.kind === 'oidc'))
    oidcLogoutRoutes(app, provider, { identities, tickets })
}
