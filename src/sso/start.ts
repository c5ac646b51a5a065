import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SingleSignOnConfig } from '../config/providers.ts'
import { reads } from '../http/access.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { escapeHtml, sendPage } from '../http/html-page.ts'
import { badParameter, type Query, singleParameters, tokenParameter } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { clientAddress, siteOf } from '../lib/addresses.ts'
import type { SignOnAddresses } from './addresses.ts'
import type { LastProvider } from './cookies.ts'
import { type Choice, choose } from './discovery.ts'
import { federationOf } from './federation.ts'
import type { PendingLogins } from './pending-logins.ts'
import { type Asking, Refused } from './protocol.ts'
import type { ProviderLogins } from './provider-logins.ts'
import { mayBeAskedSilently, type Provider, type ProxyProvider } from './providers.ts'
import { noteOnce, refusalOf } from './refusals.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: SignOnAddresses
  readonly pendingLogins: PendingLogins
  readonly config: SingleSignOnConfig
  readonly lastProvider: LastProvider
  readonly logins: ProviderLogins
  readonly providers: readonly Provider[]
  readonly realm: string
  /** @returns the address in the form in which it is sent @throws Problem 400 */
  readonly redirects: (given: string) => string
}

/**
 * The reason that is logged for a placeholder: Apache passes on `${NAME}` unchanged if its environment has no
 * such variable.
 */
const placeholderSent =
  'instead of the secret the proxy sent a placeholder: the variable is not set where the proxy runs'

/** `GET /api/authn/<scheme>`: the `location` of WWW-Authenticate, where single sign-on begins (X1). */
export function startRoutes(app: FastifyInstance, parts: Parts): void {
  const { addresses, pendingLogins, config, lastProvider, providers, realm, redirects } = parts

  noteForgedAttributes(app, providers)
  for (const scheme of new Set(providers.map(provider => provider.config.scheme))) {
    const ofScheme = providers.filter(provider => provider.config.scheme === scheme)
    routesOf(app).get(
      `/${scheme}`,
      { config: { isPage: true, ...route('beginSignOn', reads('anybody', 'none'), scheme).config } },
      async (request, reply) => {
        refuseEmbedded(request)
        const given = readStart(request, ofScheme)
        const redirectUrl = redirects(given.redirectUrl ?? config.defaultRedirectUrl)
        const last = lastProvider.take(request, reply)
        const isFree = [given.provider, given.force, given.ask].every(one => one === undefined)
        const silent = isFree
          ? ofScheme.find(one => one.config.id === last && mayBeAskedSilently(one))
          : undefined
        const provider = silent ?? chosen(ofScheme, given.provider)
        if (!provider) return discovery(parts, reply, scheme, ofScheme, redirectUrl)
        if (provider.kind === 'proxy')
          return fromProxy(parts, provider, redirectUrl, given.returned !== undefined, request, reply)
        const federation = federationOf(provider.config)
        if (!federation && given.entityID !== undefined)
          throw badParameter('entityID', given.entityID, `${provider.config.id} is not a federation.`)
        if (provider.kind === 'saml' && federation) {
          const chosen = await choice({ provider, federation, redirectUrl, given }, request, reply)
          if (chosen) return chosen
        }
        const entityId = given.entityID ?? null
        const asking: Asking = silent ? 'silent' : given.force === undefined ? 'usual' : 'forced'
        const pendingLogin = pendingLogins.create(provider.config.id, entityId, redirectUrl, asking)
        let url: string
        try {
          url = await provider.protocol.begin(pendingLogin, clientOf(request))
        } catch (error) {
          throw refusal(error, provider, redirectUrl, request)
        }
        pendingLogins.keep(request, reply, pendingLogin)
        return reply.redirect(url, 303)
      },
    )
  }

  /** @returns the page for choosing an identity provider, or the redirect to it; undefined if one is chosen */
  async function choice(
    { given, ...rest }: Omit<Choice, 'client'> & { readonly given: { readonly entityID?: string } },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply | undefined> {
    const { provider, redirectUrl } = rest
    const { entityID } = given
    try {
      if (entityID === undefined)
        return await choose(reply, { ...rest, given, client: clientOf(request) }, addresses, {
          sender: config.saml.entityId,
          realm,
        })
      if (await provider.metadata.lookUp(entityID, clientOf(request))) return undefined
    } catch (error) {
      throw refusal(error, provider, redirectUrl, request)
    }
    throw badParameter('entityID', entityID, `${provider.config.name} has no such identity provider.`)
  }

  const refusal = (error: unknown, { config }: Provider, redirectUrl: string, request: FastifyRequest) =>
    refusalOf(error, config, addresses.waysOn(config.scheme, redirectUrl), request.log)
}

/**
 * A request from elsewhere with headers that only a proxy should send is an attack, or shows a hole in the
 * proxy's configuration.
 */
function noteForgedAttributes(app: FastifyInstance, providers: readonly Provider[]): void {
  const proxies = providers.filter(provider => provider.kind === 'proxy')
  if (proxies.length > 0)
    app.addHook('onRequest', async request => {
      if (proxies.some(({ protocol }) => protocol.isTrusted(request))) return
      for (const { config, protocol } of proxies)
        if (protocol.hasAttributes(request)) {
          const clientIp = clientAddress(request.ip)
          const about = {
            provider: config.id,
            ...(protocol.hasPlaceholder(request) && { why: placeholderSent }),
          }
          noteOnce(
            request.log,
            'attributes that did not come from the trusted proxy are ignored',
            { ...about, clientIp, from: request.raw.socket.remoteAddress },
            { ...about, network: siteOf(clientIp) },
          )
        }
    })
}

/** The page for choosing among several providers: a list of links, which work without scripts. */
function discovery(
  { addresses, realm }: Parts,
  reply: FastifyReply,
  scheme: string,
  from: readonly Provider[],
  redirectUrl: string,
) {
  const link = ({ config: { id } }: Provider) => `${addresses.start(scheme, redirectUrl)}&provider=${id}`
  const choices = from.map(
    one => `<li><a class="choice" href="${escapeHtml(link(one))}">${escapeHtml(one.config.name)}</a></li>`,
  )
  return sendPage(
    reply,
    `Log in to ${realm}`,
    `<p>Where do you have an account?</p><ul>${choices.join('')}</ul>`,
  )
}

async function fromProxy(
  { addresses, logins }: Parts,
  { config, protocol }: ProxyProvider,
  redirectUrl: string,
  returned: boolean,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  let why = protocol.isTrusted(request)
    ? `the proxy sent no user: the header ${config.attributes.subject} is missing or empty`
    : 'the request did not come from the proxy, or came without its secret'
  try {
    const vouched = protocol.vouchedBy(request)
    if (vouched) return await logins.admit(vouched, redirectUrl, request, reply)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    why = error.message
  }
  if (config.loginUrl !== undefined && !returned) {
    const target = `${addresses.start(config.scheme, redirectUrl)}&provider=${config.id}&returned=1`
    return reply.redirect(config.loginUrl.replaceAll('{target}', encodeURIComponent(target)), 303)
  }
  throw refusalOf(new Refused(why), config, addresses.waysOn(config.scheme, redirectUrl), request.log)
}

/**
 * Refuses anything but navigation (Fetch Metadata): a login is a page that a browser opens, not an image or a
 * call from a script.
 */
function refuseEmbedded(request: FastifyRequest): void {
  if ((request.headers['sec-fetch-dest'] ?? 'document') !== 'document')
    throw new Problem(
      'bad-request',
      'Single sign-on must be opened as a page in the browser, not called by a script or embedded.',
    )
}

/**
 * Reads the parameters of a start. DSpace's user interface puts its address in unencoded, whatever it
 * contains: then everything that follows belongs to the address.
 */
function readStart(request: FastifyRequest, from: readonly Provider[]) {
  const query = request.query as Query
  const [, redirectUrl, provider] =
    /\?redirectUrl=(https?:\/\/.*?)(?:&provider=([a-z0-9-]+))?$/i.exec(request.originalUrl) ?? []
  const isOurs = from.some(({ config }) => config.id === provider)
  // A token in the request must not get into the address (T10).
  if (redirectUrl === undefined || query.values.has(tokenParameter))
    return singleParameters(query, [
      'redirectUrl',
      'provider',
      'returned',
      'force',
      'ask',
      'entityID',
      'search',
      'page',
    ])
  if (provider === undefined) return { redirectUrl }
  return isOurs ? { redirectUrl, provider } : { redirectUrl: `${redirectUrl}&provider=${provider}` }
}

function chosen(from: readonly Provider[], id: string | undefined): Provider | undefined {
  if (id === undefined) return from.length === 1 ? from[0] : undefined
  const known = from.find(({ config }) => config.id === id)
  if (known) return known
  const legal = from.map(({ config }) => config.id)
  throw badParameter('provider', id, `The parameter provider must be one of ${legal.join(', ')}.`, { legal })
}
