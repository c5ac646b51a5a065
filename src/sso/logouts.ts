import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Tickets } from '../authn/tickets.ts'
import type { SingleSignOnConfig } from '../config/providers.ts'
import { acceptsShortLived, changes, formOf, reads, withoutCsrf } from '../http/access.ts'
import { providerLogoutEvent } from '../http/audit.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { readForm } from '../http/form.ts'
import { sendFramed } from '../http/html-page.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import type { ProviderSession, ProviderSessionFilter } from '../model/identities.ts'
import type { Identities } from '../storage/statements/identities.ts'
import type { SignOnAddresses } from './addresses.ts'
import { Refused, Unavailable } from './protocol.ts'
import type { ProviderLogins } from './provider-logins.ts'
import type { OidcProvider, Provider } from './providers.ts'
import { isClean } from './read-identity.ts'
import { logoutRefusalOf, noteRefusal } from './refusals.ts'

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

interface BackChannelParts {
  readonly identities: Identities
  readonly tickets: Tickets
}

/** Seconds for which a used logout token is remembered, which is longer than a token is accepted. */
const usedFor = 900
/** Maximum length of a `sid` in characters; no usable ID token has a longer one. */
const longestSid = 1_000

/** Logouts that an OpenID provider sends: by a POST of its own, or by a GET from a frame in the user's browser (X7). */
function oidcLogoutRoutes(
  app: FastifyInstance,
  { config, protocol }: OidcProvider,
  { identities, tickets }: BackChannelParts,
): void {
  const url = `/sso/oidc/logout/${config.id}`

  async function end(
    which: Omit<ProviderSessionFilter, 'provider'>,
    by: string,
    request: FastifyRequest,
  ): Promise<void> {
    const filter = { ...which, provider: config.id }
    // Looked up first: any site can load this address in a frame, and a change has to take its turn with all
    // others.
    const isKnown = await identities.isAtProvider(filter)
    const ended = isKnown ? await identities.endAtProvider(filter, providerLogoutEvent(request, config)) : 0
    if (ended === 0) noteRefusal(request.log, config.id, `logout: nobody has a session here with that ${by}`)
  }

  /**
   * OpenID Connect Back-Channel Logout §2.5. If the session has ended already, the logout counts as
   * successful (§2.7).
   */
  routesOf(app).post(
    url,
    {
      config: {
        isProviderMessage: true,
        ...route(
          'acceptLogoutToken',
          withoutCsrf(
            'An identity provider sends it, and has no pair.',
            acceptsShortLived(changes('anybody', 'none', formOf())),
          ),
          config.id,
        ).config,
      },
    },
    async (request, reply) => {
      const token = readForm(request).get('logout_token')
      if (!token) throw new Problem('logout-not-understood', 'The form must have the field logout_token.')
      try {
        const { jti, sub, sid } = await protocol.acceptLogout(token.toString())
        if (!(await tickets.isFirst(`logout-token/${config.id}`, jti, usedFor)))
          throw new Refused('it was already used')
        await end({ name: sub, sid }, 'sub and sid', request)
      } catch (error) {
        throw logoutRefusalOf(error, config.id, request.log)
      }
      return reply.code(200).send()
    },
  )

  if (!config.frontChannelLogout) return
  /**
   * OpenID Connect Front-Channel Logout §3. No cookie is used, because browsers don't send it to a frame of
   * another site, and any page can load this address: only a `sid` that the provider gave to a session ends
   * something.
   */
  routesOf(app).get(
    url,
    route('acceptFrontChannelLogout', reads('anybody', 'none'), config.id),
    async (request, reply) => {
      const query = request.query as Query
      const [iss, sid = ''] = [single(query, 'iss'), single(query, 'sid')]
      // Entra ID leaves `iss` out. The address names the provider as well.
      if (iss !== undefined && !protocol.isIssuer(iss))
        throw new Problem('logout-not-understood', 'The parameter iss names another issuer.')
      if (sid === '' || sid.length > longestSid || !isClean(sid))
        throw new Problem(
          'logout-not-understood',
          'The parameter sid must be the id of the session (frontchannel_logout_session_required).',
        )
      await end({ name: null, sid }, 'sid', request)
      // The answer doesn't reveal whether a session ended.
      return sendFramed(reply, 'The logout was received', await protocol.origins())
    },
  )
}
