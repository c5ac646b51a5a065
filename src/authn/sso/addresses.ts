import type { Config } from '../../config/config.ts'
import type { Addresses } from '../../http/addresses.ts'
import { ldapMethod, passwordMethod } from '../../model/accounts.ts'
import type { Way } from '../challenge.ts'
import type { WaysOn } from './refusals.ts'

/** The addresses of single sign-on, exactly as providers are configured with them. */
export interface SignOnAddresses {
  /** What a client is told (L4): it may put an address of its own after the last `=`. */
  location(scheme: string, redirectUrl: string): string
  /** Without parameters. */
  scheme(scheme: string): string
  /** The same with the address encoded, so that more can follow. */
  start(scheme: string, redirectUrl: string): string
  /** The same after a silent attempt: the next one shows something. */
  ask(scheme: string, redirectUrl: string): string
  /** The same for a provider that has to ask for a login. */
  force(scheme: string, redirectUrl: string, provider: string): string
  waysOn(scheme: string, redirectUrl: string): WaysOn
  readonly samlMetadata: string
  readonly samlAcs: string
  readonly samlLogout: string
  oidcCallback(provider: string): string
  oidcLogout(provider: string): string
  readonly logoutPage: string
  readonly afterLogout: string
}

export function signOnAddresses({ authn }: Pick<Addresses, 'authn'>): SignOnAddresses {
  const sso = `${authn}/sso`
  const start = (scheme: string, redirectUrl: string) =>
    `${authn}/${scheme}?redirectUrl=${encodeURIComponent(redirectUrl)}`
  return {
    // As the last parameter and not encoded: DSpace's user interface replaces it with its own address.
    location: (scheme, redirectUrl) => `${authn}/${scheme}?redirectUrl=${redirectUrl}`,
    scheme: scheme => `${authn}/${scheme}`,
    start,
    ask: (scheme, redirectUrl) => `${start(scheme, redirectUrl)}&ask=1`,
    force: (scheme, redirectUrl, provider) => `${start(scheme, redirectUrl)}&provider=${provider}&force=1`,
    waysOn: (scheme, redirectUrl) => ({ begin: start(scheme, redirectUrl), back: redirectUrl }),
    samlMetadata: `${sso}/saml/metadata`,
    samlAcs: `${sso}/saml/acs`,
    samlLogout: `${sso}/saml/logout`,
    oidcCallback: provider => `${sso}/oidc/callback/${provider}`,
    oidcLogout: provider => `${sso}/oidc/logout/${provider}`,
    logoutPage: `${sso}/logout`,
    afterLogout: `${sso}/logout/done`,
  }
}

/** Each way to log in with its `location` (L4). */
export function waysToLogIn(
  { loginMethods, singleSignOn }: Pick<Config, 'loginMethods' | 'singleSignOn'>,
  addresses: Addresses,
): readonly Way[] {
  const { location } = signOnAddresses(addresses)
  const schemes = new Set(singleSignOn?.providers.map(({ scheme }) => scheme))
  // To a client, a password that a directory verifies is one like any other.
  const shown = loginMethods.map(method => (method === ldapMethod ? passwordMethod : method))
  return [...new Set(shown)].map(method =>
    singleSignOn && schemes.has(method)
      ? { method, location: location(method, singleSignOn.defaultRedirectUrl) }
      : { method },
  )
}
