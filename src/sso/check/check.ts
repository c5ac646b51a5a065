import { randomUUID } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import {
  type AnyProvider,
  isLoopback,
  type LdapConfig,
  type LdapServer,
  type ProxyConfig,
  providersIn,
  type SingleSignOnConfig,
} from '../../config/providers.ts'
import { isLoopbackName } from '../../lib/addresses.ts'
import type { SignOnAddresses } from '../addresses.ts'
import { converse } from '../ldap/connection.ts'
import { findIn } from '../ldap/directory.ts'
import { ServerFault } from '../ldap/messages.ts'
import { checkProxyPath } from './attributes.ts'
import { error, type Finding, type Found, ok, warning } from './findings.ts'
import { checkOidc } from './oidc.ts'
import { checkSaml } from './saml.ts'
import { checkCertificate } from './times.ts'

type Parts = Pick<Config, 'baseUrl' | 'allowedOrigins'> & {
  readonly singleSignOn: SingleSignOnConfig
  readonly addresses: SignOnAddresses
}

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
  // A directory is used without sending browsers anywhere.
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

async function* checkProxy(
  provider: ProxyConfig,
  { addresses, singleSignOn: { defaultRedirectUrl } }: Parts,
): AsyncIterable<Found> {
  const { subject } = provider.attributes
  yield ok(`accepts ${subject} from ${provider.addresses.join(', ')}, with the shared secret`)
  const start = `${addresses.start(provider.scheme, defaultRedirectUrl)}&provider=${provider.id}`
  yield* checkProxyPath(provider, start)
}

/**
 * Searches each server of a directory for a name that doesn't exist, as a login would. No person's password
 * is sent.
 */
async function* checkDirectory(config: LdapConfig): AsyncIterable<Found> {
  for (const server of config.servers) {
    if (server.security === 'none' && !isLoopbackName(server.host))
      yield warning(`${server.host}: passwords are sent unencrypted (allowUnencrypted)`)
    yield await checkServer(server, config)
  }
  if (config.find.kind === 'search' && config.find.account === null)
    yield warning('searches anonymously, which many directories do not allow: bindDn names an account')
  if (config.find.kind === 'name')
    yield ok(`logs people in as ${config.find.dn}; only a login shows whether there are such entries`)
  if (config.attributes.subject.toLowerCase() === 'dn')
    yield warning(
      'attributes.subject is the DN: it changes when a person is renamed, and the next person of that name gets their eperson',
    )
  if (config.email.match)
    yield warning(
      'email.match: anyone who can set an address in the directory can take over the eperson with that address, unless they have a password here',
    )
}

async function checkServer(server: LdapServer, config: LdapConfig): Promise<Found> {
  const { host, port, security } = server
  const name = `${host}:${port} (${names[security]})`
  try {
    const entry = await converse(server, config, connection =>
      findIn(connection, config, `carrel-sso-check-${randomUUID()}`),
    )
    return config.find.kind === 'search' && entry !== undefined
      ? error(
          `${name}: the search finds a person by a name that is not theirs; is {user} in the filter where it counts?`,
        )
      : ok(config.find.kind === 'search' ? `${name}: a search works` : `${name}: can be reached`)
  } catch (cause) {
    if (!(cause instanceof ServerFault)) throw cause
    return error(`${name}: ${cause.message}`)
  }
}

const names = { tls: 'TLS', 'start-tls': 'StartTLS', none: 'unencrypted' } as const
