import type { Way } from '../authn/wiring.ts'
import type { Config } from '../config/config.ts'
import type { Addresses } from '../http/addresses.ts'
import { ldapMethod, passwordMethod } from '../model/accounts.ts'
import type { WaysOn } from './refusals.ts'

/** The addresses of single sign-on, exactly as providers are configured with them. */
export interface SignOnAddresses {
  /**
   * The address in WWW-Authenticate (L4): a client may replace what follows the last `=` with an address of
   * its own.
   */
  location(scheme: string, redirectUrl: string): string
  /** The address of a scheme, without parameters. */
  scheme(scheme: string): string
  /** The start of a login, with `redirectUrl` encoded, so that more parameters can follow. */
  start(scheme: string, redirectUrl: string): string
  /** The start of a login after a silent attempt: this time the provider may show its login page. */
  ask(scheme: string, redirectUrl: string): string
  /** The start of a login at a provider that must ask for credentials. */
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
    // `redirectUrl` is the last parameter and not encoded: DSpace's user interface replaces it with its own
    // address.
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

/** Lists the login methods with their `location` (L4). */
export function waysToLogIn(
  { loginMethods, singleSignOn }: Pick<Config, 'loginMethods' | 'singleSignOn'>,
  addresses: Addresses,
): readonly Way[] {
  const { location } = signOnAddresses(addresses)
  const schemes = new Set(singleSignOn?.providers.map(({ scheme }) => scheme))
  // To a client, a password verified by a directory is like any other.
  const shown = loginMethods.map(method => (method === ldapMethod ? passwordMethod : method))
  return [...new Set(shown)].map(method =>
    singleSignOn && schemes.has(method)
      ? { method, location: location(method, singleSignOn.defaultRedirectUrl) }
      : { method },
  )
}
