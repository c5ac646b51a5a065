import { X509Certificate } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import {
  type AnyProvider,
  isLoopback,
  type ProxyConfig,
  providersIn,
  type SamlConfig,
  type SingleSignOnConfig,
} from '../../config/providers.ts'
import { checkDirectory } from '../ldap/check.ts'
import type { SignOnAddresses } from './addresses.ts'
import { checkAttributes, checkNameIds, checkProxyPath } from './check-attributes.ts'
import { checkClock } from './check-clock.ts'
import { checkOidc } from './check-oidc.ts'
import { error, type Finding, type Found, ok, warning } from './findings.ts'
import { readMetadata } from './saml-idp.ts'

type Parts = Pick<Config, 'baseUrl' | 'allowedOrigins'> & {
  readonly singleSignOn: SingleSignOnConfig
  readonly addresses: SignOnAddresses
}

const day = 24 * 3_600_000
/** Checks the configuration of single sign-on and asks the providers. Changes nothing. */
export async function* checkSignOn(parts: Parts): AsyncIterable<Finding> {
  for (const one of checkSelf(parts)) yield { about: 'carrel', ...one }
  for (const provider of providersIn(parts.singleSignOn)) {
    const about = provider.id
    for (const one of checkAccounts(provider)) yield { about, ...one }
    for await (const one of checkProvider(provider, parts)) yield { about, ...one }
  }
}

function checkProvider(provider: AnyProvider, parts: Parts): AsyncIterable<Found> | Iterable<Found> {
  switch (provider.kind) {
    case 'saml':
      return checkSaml(provider, parts)
    case 'oidc':
      return checkOidc(provider, parts)
    case 'ldap':
      return checkDirectory(provider)
    case 'proxy':
      return checkProxy(provider, parts)
  }
}

function* checkSelf({ baseUrl, allowedOrigins, singleSignOn, addresses }: Parts): Iterable<Found> {
  const { hostname, protocol } = new URL(baseUrl)
  const isPlain = protocol === 'http:'
  if (isPlain && !isLoopback(baseUrl))
    yield warning(
      `CARREL_BASE_URL is ${baseUrl}: passwords and tokens that are sent over http can be read on the network`,
    )
  for (const id of singleSignOn.switchedOff)
    yield warning(`the provider ${id} is switched off: its scheme is not among methods`)
  // No browser is sent anywhere for a directory.
  if (singleSignOn.providers.length === 0) return
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

  if (!singleSignOn.providers.some(({ kind }) => kind === 'saml')) return
  const { entityId, keys } = singleSignOn.saml
  yield ok(`SAML entity id ${entityId}, metadata at ${addresses.samlMetadata}`)
  if (keys === null)
    yield warning('no saml.privateKey: requests are not signed, and encrypted assertions cannot be read')
  else yield* checkCertificate('saml.certificate', keys.certificate)
}

function* checkAccounts({ create, email, kind, groups }: AnyProvider): Iterable<Found> {
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
  yield* checkNameIds(provider, idp)
  yield* checkAttributes(provider, idp)
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

async function* checkProxy(
  provider: ProxyConfig,
  { addresses, singleSignOn: { defaultRedirectUrl } }: Parts,
): AsyncIterable<Found> {
  const { subject } = provider.attributes
  yield ok(`accepts ${subject} from ${provider.addresses.join(', ')}, with the shared secret`)
  const start = `${addresses.start(provider.scheme, defaultRedirectUrl)}&provider=${provider.id}`
  yield* checkProxyPath(provider, start)
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

const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10)
