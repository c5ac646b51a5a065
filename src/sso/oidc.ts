import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import type { OidcConfig } from '../config/providers.ts'
import { isObject } from '../lib/json.ts'
import { boundedFetch, clockTolerance, createOidcClient, type Redeemed } from './oidc-client.ts'
import {
  type Asking,
  type PendingLogin,
  type Protocol,
  Refused,
  requireSignedIn,
  Unavailable,
  type Vouched,
} from './protocol.ts'
import { attributesOf } from './read-identity.ts'

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
      const redeemed = await client.redeem(new URL(`${callbackUrl}?${query}`), {
        state: pendingLogin.state,
        nonce: pendingLogin.secret('nonce'),
        verifier: pendingLogin.secret('pkce'),
      })
      return vouchedBy(provider, redeemed)
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

/** Accepts the claims of a login. @throws Refused */
function vouchedBy(provider: OidcConfig, { claims, idToken, more }: Redeemed): Vouched {
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
      maxAge: provider.maxAge,
      classes: provider.acrValues,
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
}

/** The claims of a logout token that are used (OpenID Connect Back-Channel Logout §2.4). */
interface LogoutToken {
  readonly jti: string
  readonly sub: string | null
  readonly sid: string | null
}

interface Expected {
  readonly issuer: string
  readonly clientId: string
  readonly jwksUri: string
  readonly type: OidcConfig['logoutTokenType']
}

/** Maximum age of an accepted logout token, in seconds (ASVS 5.0, 10.5.5). */
const longestAge = 120
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
/** Algorithms by which only the provider can sign: never `none`, and none with a shared secret. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
/** Minimum time between two look-ups of unknown keys, in ms, so that bad tokens don't each cause one. */
const keysCooldown = 2_000
const keysTimeout = 5_000

/** @returns a function that checks logout tokens (§2.6) and throws Refused or Unavailable */
function createLogoutTokens() {
  let keys: { readonly uri: string; readonly get: ReturnType<typeof createRemoteJWKSet> } | undefined
  function keysAt(uri: string) {
    if (keys?.uri !== uri)
      keys = {
        uri,
        get: createRemoteJWKSet(new URL(uri), {
          cooldownDuration: keysCooldown,
          timeoutDuration: keysTimeout,
          [customFetch]: boundedFetch,
        }),
      }
    return keys.get
  }

  return async (token: string, { issuer, clientId, jwksUri, type }: Expected): Promise<LogoutToken> => {
    const { payload, protectedHeader } = await jwtVerify(token, keysAt(jwksUri), {
      issuer,
      audience: clientId,
      algorithms,
      clockTolerance,
      maxTokenAge: longestAge,
      requiredClaims: ['jti', 'events'],
    }).catch(explain)
    // §2.4, RFC 8725 §3.11: a logout token has a type of its own, and never that of another kind of token.
    const { typ = '' } = protectedHeader
    const isUntyped = /^(jwt)?$/i.test(typ)
    if (isUntyped && type !== 'any')
      throw new Refused('it has no type (typ) of its own; if the provider never sets one: logoutTokenType')
    if (!isUntyped && !/^(application\/)?logout\+jwt$/i.test(typ))
      throw new Refused('it is another kind of token (typ)')
    const { jti, sub, sid, nonce, events } = payload
    if (!isObject(events) || !isObject(events[logoutEvent]))
      throw new Refused('it is not a logout token (events)')
    if (nonce !== undefined) throw new Refused('it has a nonce, which a logout token must not have')
    if (typeof jti !== 'string' || jti === '') throw new Refused('no jti')
    const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)
    if (text(sub) === null && text(sid) === null) throw new Refused('neither sub nor sid')
    return { jti, sub: text(sub), sid: text(sid) }
  }
}

function explain(error: unknown): never {
  if (error instanceof errors.JWKSTimeout) throw new Unavailable('fetching its keys took too long')
  if (error instanceof errors.JWTClaimValidationFailed)
    throw new Refused(`a claim is not acceptable (${error.claim})`)
  if (error instanceof errors.JOSEError) throw new Refused(`the token is not acceptable (${error.code})`)
  throw new Unavailable('its keys cannot be fetched')
}
