import type {
  OidcConfig,
  ProviderConfig,
  ProxyConfig,
  SamlConfig,
  SamlServiceProvider,
  SingleSignOnConfig,
} from '../config/providers.ts'
import { nobody } from '../lib/fair-queue.ts'
import type { ProviderSession } from '../model/identities.ts'
import type { SignOnAddresses } from './addresses.ts'
import { createOidc, type Oidc } from './oidc.ts'
import type { MetadataOf, ProviderMetadata } from './provider-metadata.ts'
import { createProxy, type TrustedProxy } from './proxy.ts'
import { createSaml, type Saml } from './saml.ts'
import type { SamlMessages } from './saml-messages.ts'

/** The configured providers, each with the implementation of its protocol. */
export type Provider = SamlProvider | OidcProvider | ProxyProvider

export interface SamlProvider {
  readonly kind: 'saml'
  readonly config: SamlConfig
  readonly protocol: Saml
  readonly metadata: MetadataOf
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

export const createProviders = (
  { providers, saml }: SingleSignOnConfig,
  addresses: SignOnAddresses,
  metadata: ProviderMetadata | undefined,
  messages: SamlMessages,
): readonly Provider[] => providers.map(config => createProvider(config, saml, addresses, metadata, messages))

function createProvider(
  config: ProviderConfig,
  self: SamlServiceProvider,
  addresses: SignOnAddresses,
  allMetadata: ProviderMetadata | undefined,
  messages: SamlMessages,
): Provider {
  if (config.kind === 'proxy') return { kind: 'proxy', config, protocol: createProxy(config) }
  if (config.kind === 'oidc') {
    const callbackUrl = addresses.oidcCallback(config.id)
    const protocol = createOidc({ provider: config, callbackUrl, afterLogoutUrl: addresses.afterLogout })
    return { kind: 'oidc', config, protocol }
  }
  if (!allMetadata) throw new Error('there is no metadata for a SAML provider')
  const metadata = allMetadata.of(config)
  const { samlAcs: acsUrl, samlLogout: logoutUrl } = addresses
  const protocol = createSaml({ provider: config, self, messages, metadata, acsUrl, logoutUrl })
  return { kind: 'saml', config, protocol, metadata }
}

/** True if a user who is signed in at the provider may come back without being asked (X6). */
export function mayBeAskedSilently(provider: Provider): boolean {
  if (provider.kind === 'proxy' || !provider.config.silent) return false
  // In a federation it isn't known which identity provider to ask. With a prompt, the operator has decided
  // what the provider does.
  return provider.kind === 'saml'
    ? provider.config.federation === undefined
    : provider.config.parameters.prompt === undefined
}

/** True if the provider of the session has a logout of its own, as far as that is known without asking it. */
export async function hasLogout(provider: Provider, { detail }: ProviderSession): Promise<boolean> {
  if (provider.kind === 'proxy') return provider.config.logoutUrl !== undefined
  if (provider.kind === 'oidc') return true
  try {
    return (await provider.metadata.find(detail.idp ?? null, nobody)).logout !== null
  } catch {
    return false
  }
}
