import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SingleSignOnConfig } from '../../config/providers.ts'
import { readForm } from '../../http/form.ts'
import { sendPage } from '../../http/html-page.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import type { ProviderSession } from '../../model/identities.ts'
import type { Identities } from '../../storage/identities.ts'
import { providerLogoutEvent } from '../audit.ts'
import type { Tickets } from '../tickets.ts'
import type { SignOnAddresses } from './addresses.ts'
import { oidcLogoutRoutes } from './oidc-logouts.ts'
import { Refused, Unavailable } from './protocol.ts'
import type { ProviderLogins } from './provider-logins.ts'
import type { OidcProvider, Provider, SamlProvider } from './providers.ts'
import { logoutRefusalOf, noteRefusal } from './refusals.ts'
import { messageLimit } from './returns.ts'
import { understood } from './saml-library.ts'
import { type LogoutMessage, messageInQuery } from './saml-logout.ts'
import { decode, readHead } from './saml-xml.ts'

interface Parts {
  readonly addresses: SignOnAddresses
  readonly config: SingleSignOnConfig
  readonly logins: ProviderLogins
  readonly providers: readonly Provider[]
  readonly identities: Identities
  readonly tickets: Tickets
}

/** Seconds that a logout request that was used is remembered: longer than one is accepted. */
const usedFor = 900

/** Single logout: the way to a provider's own, and what providers ask for (docs/decisions/0010). */
export function providerLogoutRoutes(app: FastifyInstance, parts: Parts): void {
  const { addresses, config, logins, providers, identities, tickets } = parts

  /** A browser comes here after POST logout, with the cookie that it was given there. */
  app.get('/sso/logout', { config: { isPage: true } }, async (request, reply) => {
    const session = await logins.takeLogout(request, reply)
    const url = session && (await logoutUrlAt(session, request))
    return reply.redirect(url ?? config.defaultRedirectUrl, 303)
  })
  app.get('/sso/logout/done', async (_request, reply) => reply.redirect(config.defaultRedirectUrl, 303))

  async function logoutUrlAt(session: ProviderSession, request: FastifyRequest): Promise<string | undefined> {
    const provider = providers.find(one => one.config.id === session.provider)
    if (!provider) return undefined
    if (provider.kind === 'proxy')
      return provider.config.logoutUrl?.replaceAll('{target}', encodeURIComponent(addresses.afterLogout))
    try {
      return await provider.protocol.logoutUrl(session)
    } catch (error) {
      // The session here has ended. The log says that the provider's has not.
      if (!(error instanceof Refused) && !(error instanceof Unavailable)) throw error
      noteRefusal(request.log, session.provider, `its logout cannot be reached: ${error.message}`)
      return undefined
    }
  }

  const saml = providers.filter((one): one is SamlProvider => one.kind === 'saml')
  if (saml.length > 0) {
    const url = '/sso/saml/logout'
    const route = { bodyLimit: messageLimit, config: { isPage: true, isProviderMessage: true } }
    app.get(url, route, async (request, reply) => {
      const names = ['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg', 'Signature'] as const
      const given = singleParameters(request.query as Query, names)
      // The provider's answer to our own request: whatever it says, the session here has ended.
      if (given.SAMLRequest === undefined) return reply.redirect(config.defaultRedirectUrl, 303)
      const query = request.originalUrl.slice(request.originalUrl.indexOf('?') + 1)
      return endBySaml(request, reply, () => messageInQuery(query))
    })
    app.post(url, route, async (request, reply) => {
      const form = readForm(request)
      const message = form.get('SAMLRequest')?.toString()
      if (message === undefined) return reply.redirect(config.defaultRedirectUrl, 303)
      const relayState = form.get('RelayState')?.toString() ?? ''
      return endBySaml(request, reply, async () => ({ binding: 'post', xml: decode(message), relayState }))
    })
  }

  /** The provider's logout request (SAML Profiles §4.4.4): the message says whose it is, its signature shows it. */
  async function endBySaml(
    request: FastifyRequest,
    reply: FastifyReply,
    read: () => Promise<LogoutMessage>,
  ): Promise<FastifyReply> {
    let name = 'unknown'
    try {
      const message = await understood(read())
      const { issuer } = readHead(message.xml)
      // One provider may be configured several times, for example with other rules for other people.
      const [provider, ...others] = saml.filter(one => issuer !== null && entityIdOf(one) === issuer)
      if (!provider) throw new Refused('its issuer is not a configured provider')
      name = provider.config.id
      const logout = await provider.protocol.acceptLogout(message)
      if (!(await tickets.isFirst('logout-request', `${name}/${logout.id}`, usedFor)))
        throw new Refused('it was already used')
      let ended = 0
      for (const one of [provider, ...others])
        ended += await identities.endAtProvider(
          { provider: one.config.id, name: logout.name, sid: null },
          providerLogoutEvent(request, one.config),
        )
      if (ended === 0) noteRefusal(request.log, name, 'logout: nobody has a session here under that NameID')
      const answer = await logout.answer(ended > 0)
      if (answer !== undefined) return reply.redirect(answer, 303)
      return ended > 0
        ? sendPage(reply, 'You are logged out', '<p>All your sessions here have ended.</p>')
        : sendPage(reply, 'You were not logged in', '<p>You had no session here that could be ended.</p>')
    } catch (error) {
      throw logoutRefusalOf(error, name, request.log)
    }
  }

  /** A provider whose metadata can't be read now has no name. */
  function entityIdOf({ metadata }: SamlProvider): string | undefined {
    try {
      return metadata().entityId
    } catch {
      return undefined
    }
  }

  for (const provider of providers.filter((one): one is OidcProvider => one.kind === 'oidc'))
    oidcLogoutRoutes(app, provider, { identities, tickets })
}
