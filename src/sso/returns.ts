import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Tickets } from '../authn/tickets.ts'
import type { SamlServiceProvider, SingleSignOnConfig } from '../config/providers.ts'
import { acceptsShortLived, changes, formOf, reads, withoutCsrf } from '../http/access.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { readForm } from '../http/form.ts'
import { escapeHtml } from '../http/html-page.ts'
import { methodNotAllowed } from '../http/method-not-allowed.ts'
import { Overloaded } from '../lib/fair-queue.ts'
import type { SignOnAddresses } from './addresses.ts'
import type { PendingLogins } from './pending-logins.ts'
import { Declined, type PendingLogin, TooOld, type Vouched } from './protocol.ts'
import type { ProviderLogins } from './provider-logins.ts'
import type { OidcProvider, Provider, SamlProvider } from './providers.ts'
import { notBegun, refusalOf, type WaysOn } from './refusals.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: SignOnAddresses
  readonly pendingLogins: PendingLogins
  readonly config: SingleSignOnConfig
  readonly logins: ProviderLogins
  readonly providers: readonly Provider[]
  readonly tickets: Tickets
}

/** Maximum size, in bytes, of a message that an identity provider makes the browser post. */
const messageLimit = 256 * 1024
/** Seconds for which a used attempt is remembered, which is longer than it is valid. */
const usedFor = 3_600

/**
 * The addresses to which browsers return from providers: SAML's assertion consumer service, OpenID Connect's
 * redirection endpoint.
 */
export function returnRoutes(app: FastifyInstance, parts: Parts): void {
  const { providers } = parts
  const returning = createReturning(parts)
  const saml = providers.filter((one): one is SamlProvider => one.kind === 'saml')
  const oidc = providers.filter((one): one is OidcProvider => one.kind === 'oidc')
  if (saml.length > 0) samlReturns(app, parts, returning, saml)
  oidcReturns(app, returning, oidc)
}

interface Resumed<P extends Provider> {
  readonly pendingLogin: PendingLogin
  readonly provider: P
  readonly ways: WaysOn
}

/** Takes the answers of providers to logins that have begun. */
function createReturning({ addresses, pendingLogins, config, logins, tickets }: Parts) {
  async function resume<P extends Provider>(
    state: string,
    from: readonly P[],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Resumed<P>> {
    const pendingLogin = await pendingLogins.resume(request, reply, state)
    const provider = from.find(one => one.config.id === pendingLogin?.provider)
    const ways = addresses.waysOn(
      (provider ?? from[0])?.config.scheme ?? '',
      pendingLogin?.redirectUrl ?? config.defaultRedirectUrl,
    )
    if (!pendingLogin || !provider) throw notBegun(ways)
    return { pendingLogin, provider, ways }
  }

  async function arrive(
    accept: () => Promise<Vouched>,
    { pendingLogin, provider, ways }: Resumed<Provider>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    let vouched: Vouched
    try {
      vouched = await accept()
    } catch (error) {
      const next = nextAttempt(error, pendingLogin, provider)
      if (next !== undefined) return reply.redirect(next, 303)
      // Keeps the pending login, because the browser sends the response again when the page is reloaded.
      if (error instanceof Overloaded) pendingLogins.keep(request, reply, pendingLogin)
      throw refusalOf(error, provider.config, ways, request.log)
    }
    // A response counts once. A refused one costs the store nothing.
    if (!(await tickets.isFirst('state', pendingLogin.state, usedFor))) throw notBegun(ways)
    return logins.admit(vouched, pendingLogin.redirectUrl, request, reply)
  }

  /**
   * Returns the address of the next attempt, if another way may be tried. Each way follows only from an
   * earlier one, so this ends.
   */
  function nextAttempt(
    error: unknown,
    { asking, redirectUrl }: PendingLogin,
    { config: { scheme, id } }: Provider,
  ): string | undefined {
    if (error instanceof Declined && asking === 'silent') return addresses.ask(scheme, redirectUrl)
    // OpenID Connect Core §3.1.3.7, 13.
    if (error instanceof TooOld && asking !== 'forced') return addresses.force(scheme, redirectUrl, id)
    return undefined
  }

  return { resume, arrive }
}

type Returning = ReturnType<typeof createReturning>

function samlReturns(
  app: FastifyInstance,
  { addresses, config }: Parts,
  { resume, arrive }: Returning,
  saml: readonly SamlProvider[],
): void {
  routesOf(app).get(
    '/sso/saml/metadata',
    route('showServiceProvider', reads('anybody', 'none')),
    async (_request, reply) =>
      reply.type('application/samlmetadata+xml').send(
        serviceProviderMetadata(
          config.saml,
          addresses,
          saml.map(one => one.config).filter(one => one.federation),
        ),
      ),
  )
  routesOf(app).post(
    '/sso/saml/acs',
    {
      config: {
        isPage: true,
        isProviderMessage: true,
        ...route(
          'acceptAssertion',
          withoutCsrf(
            'An identity provider sends it, and has no pair.',
            acceptsShortLived(changes('anybody', 'none', formOf(messageLimit))),
          ),
        ).config,
      },
    },
    async (request, reply) => {
      const form = readForm(request)
      const resumed = await resume(form.get('RelayState')?.toString() ?? '', saml, request, reply)
      const response = form.get('SAMLResponse')?.toString() ?? ''
      return arrive(
        () => resumed.provider.protocol.accept(response, resumed.pendingLogin, clientOf(request)),
        resumed,
        request,
        reply,
      )
    },
  )
  // This address stays in the browser's address bar after a refusal.
  routesOf(app).get(
    '/sso/saml/acs',
    { config: { isPage: true, ...route('refuseAssertion', reads('anybody', 'none')).config } },
    async request => {
      throw methodNotAllowed(request, ['POST'])
    },
  )
}

function oidcReturns(
  app: FastifyInstance,
  { resume, arrive }: Returning,
  oidc: readonly OidcProvider[],
): void {
  for (const provider of oidc) {
    const url = `/sso/oidc/callback/${provider.config.id}`
    routesOf(app).get(
      url,
      {
        config: { isPage: true, ...route('acceptCode', reads('anybody', 'none'), provider.config.id).config },
      },
      async (request, reply) => {
        const query = request.originalUrl.slice(request.originalUrl.indexOf('?') + 1)
        const state = new URLSearchParams(query).get('state') ?? ''
        // Each provider has an address of its own, so that it can't pass off its answer as another's (RFC
        // 9700 §4.4.2.2).
        const resumed = await resume(state, [provider], request, reply)
        return arrive(() => provider.protocol.accept(query, resumed.pendingLogin), resumed, request, reply)
      },
    )
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * True if an identity provider sends this, through a browser or directly: it isn't one of Carrel's
     * clients, and has no CSRF pair (C1).
     */
    isProviderMessage?: boolean
  }
}

/**
 * Carrel's metadata for an identity provider (SAML 2.0 Metadata §2.4.4), and for a discovery service: the
 * addresses to which it may send browsers back (Identity Provider Discovery Service Protocol and Profile §3).
 */
function serviceProviderMetadata(
  { entityId, keys }: SamlServiceProvider,
  addresses: SignOnAddresses,
  federations: readonly { readonly scheme: string }[],
): string {
  const certificate = keys?.certificate.replaceAll(/-----[^-]+-----|\s/g, '')
  const key = (use: string, methods: string) =>
    certificate === undefined
      ? ''
      : `
    <md:KeyDescriptor use="${use}">
      <ds:KeyInfo><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>${methods}
    </md:KeyDescriptor>`
  const encryption = ['2009/xmlenc11#aes256-gcm', '2009/xmlenc11#aes128-gcm', '2001/04/xmlenc#rsa-oaep-mgf1p']
    .map(name => `\n      <md:EncryptionMethod Algorithm="http://www.w3.org/${name}"/>`)
    .join('')
  const logout = ['HTTP-Redirect', 'HTTP-POST']
    .map(
      binding =>
        `\n    <md:SingleLogoutService Binding="${bindings}${binding}" Location="${escapeHtml(addresses.samlLogout)}"/>`,
    )
    .join('')
  const discovery = [...new Set(federations.map(({ scheme }) => scheme))].map(
    (scheme, index) =>
      `\n      <idpdisc:DiscoveryResponse xmlns:idpdisc="${discoveryBinding}" Binding="${discoveryBinding}" Location="${escapeHtml(addresses.scheme(scheme))}" index="${index}"/>`,
  )
  const extensions =
    discovery.length === 0 ? '' : `\n    <md:Extensions>${discovery.join('')}\n    </md:Extensions>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="${escapeHtml(entityId)}">
  <md:SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" AuthnRequestsSigned="${keys !== null}" WantAssertionsSigned="true">${extensions}${key('signing', '')}${key('encryption', encryption)}${logout}
    <md:AssertionConsumerService Binding="${bindings}HTTP-POST" Location="${escapeHtml(addresses.samlAcs)}" index="0" isDefault="true"/>
  </md:SPSSODescriptor>
</md:EntityDescriptor>
`
}

const discoveryBinding = 'urn:oasis:names:tc:SAML:profiles:SSO:idp-discovery-protocol'
const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings:'
