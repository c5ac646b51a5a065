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
  for (const one of checkSelf(parts)) yield named('carrel', one)
  for (const provider of providersIn(parts.singleSignOn)) {
    for (const one of checkAccounts(provider)) yield named(provider.id, one)
    for await (const one of checkProvider(provider, parts)) yield named(provider.id, one)
  }
}

const named = (about: string, { level, what, code, values }: Found): Finding => ({
  about,
  level,
  what,
  code,
  values,
})

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
  if (isPlain && !isLoopback(baseUrl)) yield warning('sign-on-base-url-plain', { baseUrl })
  for (const provider of singleSignOn.switchedOff) yield warning('provider-switched-off', { provider })
  // A directory is used without sending browsers anywhere.
  if (singleSignOn.providers.length === 0) return
  if (allowedOrigins.length === 0) yield warning('sign-on-origins-none')
  for (const origin of allowedOrigins)
    if (isPlain && new URL(origin).hostname !== hostname)
      yield error('sign-on-origin-cross-site-plain', { origin, baseUrl })
    else if (!isPlain && origin.startsWith('http:') && !isLoopback(origin))
      yield warning('sign-on-origin-plain', { origin })
  yield ok('return-address', { address: singleSignOn.defaultRedirectUrl })

  if (!singleSignOn.providers.some(({ kind }) => kind === 'saml')) return
  const { entityId, keys } = singleSignOn.saml
  yield ok('saml-entity-id', { entityId, address: addresses.samlMetadata })
  if (keys === null) yield warning('saml-key-none')
  else yield* checkCertificate('saml.certificate', keys.certificate)
}

function* checkAccounts({ create, email, kind, groups }: AnyProvider): Iterable<Found> {
  if (!create && !email.match) yield warning('accounts-linked-only')
  if (kind === 'oidc' && email.match && email.verified === 'always') yield warning('email-match-unverified')
  if (kind === 'oidc' && create && email.verified === 'claim') yield ok('email-claim-needed')
  if (groups.length === 0) yield ok('special-groups-none')
}

async function* checkProxy(
  provider: ProxyConfig,
  { addresses, singleSignOn: { defaultRedirectUrl } }: Parts,
): AsyncIterable<Found> {
  const { subject } = provider.attributes
  yield ok('proxy-accepted', { subject, addresses: provider.addresses })
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
      yield warning('directory-unencrypted', { host: server.host })
    yield await checkServer(server, config)
  }
  if (config.find.kind === 'search' && config.find.account === null) yield warning('directory-anonymous')
  if (config.find.kind === 'name') yield ok('directory-name', { dn: config.find.dn })
  if (config.attributes.subject.toLowerCase() === 'dn') yield warning('directory-subject-dn')
  if (config.email.match) yield warning('directory-email-match')
}

async function checkServer(server: LdapServer, config: LdapConfig): Promise<Found> {
  const { host, port, security } = server
  const named = { server: `${host}:${port} (${names[security]})` }
  try {
    const entry = await converse(server, config, connection =>
      findIn(connection, config, `carrel-sso-check-${randomUUID()}`),
    )
    if (config.find.kind === 'name') return ok('directory-reached', named)
    return entry === undefined ? ok('directory-searched', named) : error('directory-filter-wide', named)
  } catch (cause) {
    if (!(cause instanceof ServerFault)) throw cause
    return error('directory-refused', { ...named, reason: cause.message })
  }
}

const names = { tls: 'TLS', 'start-tls': 'StartTLS', none: 'unencrypted' } as const
