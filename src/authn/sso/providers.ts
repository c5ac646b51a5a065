import type { FastifyBaseLogger } from 'fastify'
import type {
  OidcConfig,
  ProviderConfig,
  ProxyConfig,
  SamlConfig,
  SamlServiceProvider,
  SingleSignOnConfig,
} from '../../config/providers.ts'
import type { SignOnAddresses } from './addresses.ts'
import { createOidc, type Oidc } from './oidc.ts'
import { createProxy, type TrustedProxy } from './proxy.ts'
import { createSaml, type Saml } from './saml.ts'
import { type IdpMetadata, watchMetadata } from './saml-idp.ts'
import type { SamlMessages } from './saml-messages.ts'

/** The configured providers, each with what speaks its protocol. */
export type Provider = SamlProvider | OidcProvider | ProxyProvider

export interface SamlProvider {
  readonly kind: 'saml'
  readonly config: SamlConfig
  readonly protocol: Saml
  readonly metadata: () => IdpMetadata
}
export interface OidcProvider {
  readonly kind: 'oidc'
  readonly config: OidcConfig
  readonly protocol: Oidc
}
export interface ProxyProvider {
  readonly kind: 'proxy'
  readonly config: ProxyConfig
  readonly protocol: TrustedProxy
}

type Log = Pick<FastifyBaseLogger, 'error'>

export const createProviders = (
  { providers, saml }: SingleSignOnConfig,
  addresses: SignOnAddresses,
  log: Log,
  messages: SamlMessages,
): readonly Provider[] => providers.map(config => createProvider(config, saml, addresses, log, messages))

function createProvider(
  config: ProviderConfig,
  self: SamlServiceProvider,
  addresses: SignOnAddresses,
  log: Log,
  messages: SamlMessages,
): Provider {
  if (config.kind === 'proxy') return { kind: 'proxy', config, protocol: createProxy(config) }
  if (config.kind === 'oidc') {
    const callbackUrl = addresses.oidcCallback(config.id)
    const protocol = createOidc({ provider: config, callbackUrl, afterLogoutUrl: addresses.afterLogout })
    return { kind: 'oidc', config, protocol }
  }
  const metadata = watchMetadata(config, why =>
    log.error({ provider: config.id, why }, 'the metadata of a provider cannot be read'),
  )
  const { samlAcs: acsUrl, samlLogout: logoutUrl } = addresses
  const protocol = createSaml({ provider: config, self, messages, metadata, acsUrl, logoutUrl })
  return { kind: 'saml', config, protocol, metadata }
}

/** Whether a person who is signed in there may come back without a question (X6). */
export function mayBeAskedSilently(provider: Provider): boolean {
  if (provider.kind === 'proxy' || !provider.config.silent) return false
  // The operator has said what the provider should do.
  return provider.kind === 'saml' || provider.config.parameters.prompt === undefined
}

/** Whether a provider has a logout of its own, as far as that is known without asking it. */
export function hasLogout(provider: Provider): boolean {
  if (provider.kind === 'proxy') return provider.config.logoutUrl !== undefined
  if (provider.kind === 'oidc') return true
  try {
    return provider.metadata().logout !== null
  } catch {
    return false
  }
}
