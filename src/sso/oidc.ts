import type { OidcConfig } from '../config/providers.ts'
import { createLogoutTokens, type LogoutToken } from './logout-token.ts'
import { clockTolerance, createOidcClient } from './oidc-client.ts'
import { type Asking, type PendingLogin, type Protocol, Refused, type Vouched } from './protocol.ts'
import { attributesOf } from './read-identity.ts'
import { requireSignedIn } from './requirements.ts'

/** OpenID Connect: code flow with PKCE, state and nonce (Core §3.1), and both logouts. */
export interface Oidc extends Protocol {
  /** Accepts a callback. @param query of the callback, as it came @throws Refused, Unavailable */
  accept(query: string, pendingLogin: PendingLogin): Promise<Vouched>
  /** Accepts a logout that the provider sends. @throws Refused, Unavailable */
  acceptLogout(token: string): Promise<LogoutToken>
  /** Returns true if the name is the provider's, as in the parameter `iss` of front-channel logout. */
  isIssuer(name: string): boolean
  /** The origins of the provider's pages, as far as they are known. */
  origins(): Promise<readonly string[]>
}

interface Parts {
  readonly provider: OidcConfig
  readonly callbackUrl: string
  /** Address to which the provider sends the browser after its own logout. */
  readonly afterLogoutUrl: string
}

const prompts: Readonly<Record<Asking, { readonly prompt?: string }>> = {
  silent: { prompt: 'none' },
  usual: {},
  forced: { prompt: 'login' },
}

/** Maximum length in characters of an ID token that is kept as a hint for the logout. */
const longestHint = 4_000

export function createOidc({ provider, callbackUrl, afterLogoutUrl }: Parts): Oidc {
  const client = createOidcClient(provider)
  const readLogoutToken = createLogoutTokens()
  const { acrValues, maxAge } = provider
  return {
    begin: async pendingLogin =>
      client.authorizationUrl({
        ...provider.parameters,
        // Parameters of an authentication request (Core §3.1.2.1).
        ...prompts[pendingLogin.asking],
        ...(maxAge !== undefined && { max_age: String(maxAge) }),
        ...(acrValues && { acr_values: acrValues.join(' ') }),
        redirect_uri: callbackUrl,
        scope: provider.scopes.join(' '),
        state: pendingLogin.state,
        nonce: pendingLogin.secret('nonce'),
        code_challenge: await client.codeChallenge(pendingLogin.secret('pkce')),
        code_challenge_method: 'S256',
      }),

    accept: async (query, pendingLogin) => {
      const { claims, idToken, more } = await client.redeem(new URL(`${callbackUrl}?${query}`), {
        state: pendingLogin.state,
        nonce: pendingLogin.secret('nonce'),
        verifier: pendingLogin.secret('pkce'),
      })
      // Core §3.1.3.7, 5: the authorized party must be this client, even if there is only one audience.
      if (claims.azp !== undefined && claims.azp !== provider.clientId)
        throw new Refused('another authorized party (azp)')
      const { auth_time: time, acr } = claims
      requireSignedIn(
        {
          at: typeof time === 'number' ? time * 1000 : undefined,
          class: typeof acr === 'string' ? acr : undefined,
        },
        {
          maxAge,
          classes: acrValues,
          skew: clockTolerance * 1000,
          names: { at: 'auth_time', class: 'acr' },
        },
      )
      return {
        provider,
        attributes: attributesOf({ ...more, ...claims }),
        names: Object.keys({ ...more, ...claims }),
        session: {
          name: claims.sub,
          sid: typeof claims.sid === 'string' ? claims.sid : null,
          detail: idToken.length > longestHint ? {} : { hint: idToken },
        },
      }
    },

    acceptLogout: async token => {
      const { issuer, jwks_uri: jwksUri = '' } = await client.discover()
      return readLogoutToken(token, {
        issuer,
        clientId: provider.clientId,
        jwksUri,
        type: provider.logoutTokenType,
      })
    },

    isIssuer: name => URL.parse(name)?.href === new URL(provider.issuer).href,

    origins: async () => {
      // The provider's own address is known even if it can't be reached.
      const found = await client.discover().catch(() => undefined)
      const pages = [provider.issuer, found?.authorization_endpoint, found?.end_session_endpoint]
      const origins = pages.map(page => URL.parse(page ?? '')?.origin ?? '')
      return [...new Set(origins)].filter(origin => /^https?:\/\/[\w.:[\]-]+$/.test(origin))
    },

    logoutUrl: ({ detail }) =>
      client.logoutUrl({
        post_logout_redirect_uri: afterLogoutUrl,
        ...(detail.hint && { id_token_hint: detail.hint }),
      }),
  }
}
