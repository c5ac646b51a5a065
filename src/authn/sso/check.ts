import { X509Certificate } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import {
  isLoopback,
  type OidcConfig,
  type ProviderConfig,
  type ProxyConfig,
  type SamlConfig,
  type SingleSignOnConfig,
} from '../../config/providers.ts'
import type { SignOnAddresses } from './addresses.ts'
import { boundedFetch, clockTolerance, createOidcClient } from './oidc-client.ts'
import { Refused, Unavailable } from './protocol.ts'
import { readMetadata } from './saml-idp.ts'

/** One thing that `carrel sso check` has looked at. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error'
  /** A provider's id, or `carrel`. */
  readonly about: string
  readonly what: string
}

type Found = Omit<Finding, 'about'>
const ok = (what: string): Found => ({ level: 'ok', what })
const warning = (what: string): Found => ({ level: 'warning', what })
const error = (what: string): Found => ({ level: 'error', what })

type Parts = Pick<Config, 'baseUrl' | 'allowedOrigins'> & {
  readonly singleSignOn: SingleSignOnConfig
  readonly addresses: SignOnAddresses
}

const day = 24 * 3_600_000
/** Milliseconds that a provider has to answer. */
const patience = 5_000

/** Checks the configuration of single sign-on and asks the providers. Changes nothing. */
export async function* checkSignOn(parts: Parts): AsyncIterable<Finding> {
  for (const one of checkSelf(parts)) yield { about: 'carrel', ...one }
  for (const provider of parts.singleSignOn.providers) {
    const about = provider.id
    for (const one of checkAccounts(provider)) yield { about, ...one }
    for await (const one of checkProvider(provider, parts)) yield { about, ...one }
  }
}

function checkProvider(provider: ProviderConfig, parts: Parts): AsyncIterable<Found> | Iterable<Found> {
  if (provider.kind === 'saml') return checkSaml(provider, parts)
  return provider.kind === 'oidc' ? checkOidc(provider, parts) : checkProxy(provider)
}

function* checkSelf({ baseUrl, allowedOrigins, singleSignOn, addresses }: Parts): Iterable<Found> {
  const { hostname, protocol } = new URL(baseUrl)
  const isPlain = protocol === 'http:'
  if (isPlain && !isLoopback(baseUrl))
    yield warning(
      `CARREL_BASE_URL is ${baseUrl}: passwords and tokens that are sent over http can be read on the network`,
    )
  if (allowedOrigins.length === 0)
    yield warning(
      'CARREL_ALLOWED_ORIGINS is empty: after a login, browsers can return only to the service itself',
    )
  for (const origin of allowedOrigins)
    if (isPlain && new URL(origin).hostname !== hostname)
      yield error(
        `${origin} is a different site from ${baseUrl}, and over http browsers do not send the login cookies across sites: use https, or the same host name`,
      )
    else if (!isPlain && origin.startsWith('http:') && !isLoopback(origin))
      yield warning(
        `${origin} in CARREL_ALLOWED_ORIGINS is http: tokens that are sent there can be read on the network`,
      )
  yield ok(`browsers return to ${singleSignOn.defaultRedirectUrl} by default`)
  for (const id of singleSignOn.switchedOff)
    yield warning(`the provider ${id} is switched off: its scheme is not among methods`)

  if (!singleSignOn.providers.some(({ kind }) => kind === 'saml')) return
  const { entityId, keys } = singleSignOn.saml
  yield ok(`SAML entity id ${entityId}, metadata at ${addresses.samlMetadata}`)
  if (keys === null)
    yield warning('no saml.privateKey: requests are not signed, and encrypted assertions cannot be read')
  else yield* checkCertificate('saml.certificate', keys.certificate)
}

function* checkAccounts({ create, email, kind, groups }: ProviderConfig): Iterable<Found> {
  if (!create && !email.match)
    yield warning('neither create nor email.match is on: only epersons who are already linked can log in')
  if (kind === 'oidc' && email.match && email.verified === 'always')
    yield warning(
      'email.match with email.verified "always": anyone who can set an address at the provider can take over the eperson with that address',
    )
  if (kind === 'oidc' && create && email.verified === 'claim')
    yield ok(
      'creates epersons only if a claim says that their address is verified; some providers never send that claim',
    )
  if (groups.length === 0) yield ok('gives no special groups')
}

async function* checkSaml(provider: SamlConfig, { singleSignOn, baseUrl }: Parts): AsyncIterable<Found> {
  let idp: ReturnType<typeof readMetadata>
  try {
    idp = readMetadata(provider)
  } catch (cause) {
    yield error(`the metadata ${provider.metadata}: ${reasonOf(cause)}`)
    return
  }
  yield ok(`entity id ${idp.entityId}${idp.displayName === null ? '' : ` (${idp.displayName})`}`)
  if (idp.entityId === singleSignOn.saml.entityId)
    yield error(
      'its entity id is the same as saml.entityId: the metadata is Carrel’s own, not the provider’s',
    )
  if (idp.validUntil !== null && idp.validUntil < Date.now())
    yield error(`the metadata expired on ${dateOf(idp.validUntil)}: fetch it again`)
  else if (idp.validUntil !== null && idp.validUntil < Date.now() + 7 * day)
    yield warning(`the metadata expires on ${dateOf(idp.validUntil)}`)
  for (const certificate of idp.certificates) yield* checkCertificate('its certificate', certificate)
  if (idp.wantsSignedRequests && singleSignOn.saml.keys === null)
    yield error('it requires signed requests, and saml.privateKey is not set')
  yield ok(idp.logout === null ? 'has no single logout by redirect' : 'has single logout')
  if (baseUrl.startsWith('http:') && new URL(idp.signInUrl).hostname !== new URL(baseUrl).hostname)
    yield error(
      `over http browsers do not send the login cookie when ${new URL(idp.signInUrl).hostname}, a different site, posts its response: set CARREL_BASE_URL to https://…`,
    )
  if (idp.signInUrl.startsWith('http:') && !isLoopback(idp.signInUrl))
    yield warning(`its address ${idp.signInUrl} is http`)
  yield* checkClock(idp.signInUrl, singleSignOn.saml.clockSkew)
}

/** The operating system's messages name the file again. */
const reasonOf = (cause: unknown): string =>
  (cause as NodeJS.ErrnoException).code === 'ENOENT'
    ? 'there is no such file (ENOENT); download the metadata from the provider and save it there'
    : (cause as Error).message

async function* checkOidc(provider: OidcConfig, { addresses }: Parts): AsyncIterable<Found> {
  const client = createOidcClient(provider)
  const redirectUri = addresses.oidcCallback(provider.id)
  try {
    const server = await client.discover()
    yield ok(`issuer ${server.issuer}`)
    yield* checkClock(
      `${provider.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
      clockTolerance,
    )
    if (server.code_challenge_methods_supported && !server.code_challenge_methods_supported.includes('S256'))
      yield warning('it does not announce PKCE with S256')
    for (const scope of provider.scopes)
      if (server.scopes_supported && !server.scopes_supported.includes(scope))
        yield warning(`it does not announce the scope ${scope}`)
    yield await checkKeys(server.jwks_uri ?? '')
    yield await checkRedirectUri(client, provider, redirectUri)
    yield await checkCredentials(client, redirectUri)
    yield ok(
      server.end_session_endpoint === undefined
        ? 'has no logout page'
        : `has a logout page; register ${addresses.afterLogout} as post-logout redirect URI`,
    )
    if (server.backchannel_logout_supported === true)
      yield ok(`has back-channel logout; register ${addresses.oidcLogout(provider.id)}`)
  } catch (cause) {
    if (!(cause instanceof Unavailable) && !(cause instanceof Refused)) throw cause
    yield error(
      `issuer ${provider.issuer}: ${cause.message} (asked at /.well-known/openid-configuration below it)`,
    )
  }
}

async function checkKeys(uri: string): Promise<Found> {
  const answer = await ask(uri)
  const keys = answer?.ok ? ((await answer.json().catch(() => ({}))) as { keys?: unknown }).keys : undefined
  return Array.isArray(keys) && keys.length > 0
    ? ok(`publishes ${keys.length} key${keys.length === 1 ? '' : 's'}`)
    : error(`its keys cannot be read at ${uri}`)
}

/** A provider tells anyone at once whether it knows a client and its redirect URI. */
async function checkRedirectUri(
  client: ReturnType<typeof createOidcClient>,
  provider: OidcConfig,
  redirectUri: string,
): Promise<Found> {
  const url = await client.authorizationUrl({
    redirect_uri: redirectUri,
    scope: provider.scopes.join(' '),
    state: 'carrel-sso-check',
    nonce: 'carrel-sso-check',
    code_challenge: await client.codeChallenge('carrel-sso-check'.repeat(4)),
    code_challenge_method: 'S256',
  })
  const answer = await ask(url)
  if (!answer || answer.status >= 500) return warning('its login page cannot be reached from this machine')
  const isError = /[?&#/]error\b/i.test(answer.headers.get('location') ?? '')
  if (answer.status < 400 && !isError) return ok(`did not refuse the redirect URI ${redirectUri}`)
  const text = (await answer.text()) + (answer.headers.get('location') ?? '')
  return /redirect.?uri/i.test(text)
    ? error(`it does not know the redirect URI ${redirectUri}: register exactly that`)
    : error(`it refuses the client ${provider.clientId} (status ${answer.status}): is it registered there?`)
}

async function checkCredentials(
  client: ReturnType<typeof createOidcClient>,
  redirectUri: string,
): Promise<Found> {
  const said = await client.tryCredentials(redirectUri)
  if (said === 'invalid_grant') return ok('accepts the client’s credentials')
  if (said === 'invalid_client' || said === 'unauthorized_client')
    return error('it refuses clientId with clientSecret: check the secret and clientAuthentication')
  return warning(`its token endpoint answered ${said} to an invalid code; expected invalid_grant`)
}

function* checkProxy({ addresses, attributes }: ProxyConfig): Iterable<Found> {
  yield ok(`accepts ${attributes.subject} from ${addresses.join(', ')}, with the shared secret`)
}

function* checkCertificate(name: string, pem: string): Iterable<Found> {
  const certificate = new X509Certificate(pem)
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  const bits = certificate.publicKey.asymmetricKeyDetails?.modulusLength
  if (to < Date.now()) yield error(`${name} expired on ${dateOf(to)}`)
  else if (from > Date.now()) yield error(`${name} is valid only from ${dateOf(from)}`)
  else if (to < Date.now() + 30 * day) yield warning(`${name} expires on ${dateOf(to)}`)
  else yield ok(`${name} is valid until ${dateOf(to)}`)
  if (bits !== undefined && bits < 2048) yield warning(`${name} has a key of only ${bits} bits`)
}

/** @param tolerance seconds */
async function* checkClock(url: string, tolerance: number): AsyncIterable<Found> {
  const answer = await ask(url)
  if (!answer) {
    yield warning(`${url} cannot be reached from this machine; browsers must be able to reach it`)
    return
  }
  const theirs = Date.parse(answer.headers.get('date') ?? '')
  const seconds = Math.round((Date.now() - theirs) / 1000)
  if (Math.abs(seconds) > tolerance)
    yield error(
      `the clock here is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the provider’s; ${tolerance} s are allowed: use NTP on both sides`,
    )
}

/** @returns undefined when there is no answer */
async function ask(url: string): Promise<Response | undefined> {
  try {
    return await boundedFetch(url, { redirect: 'manual', signal: AbortSignal.timeout(patience) })
  } catch {
    return undefined
  }
}

const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10)
