import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import type { OidcConfig } from '../config/providers.ts'
import { isObject } from '../lib/json.ts'
import { boundedFetch, clockTolerance } from './oidc-client.ts'
import { Refused, Unavailable } from './protocol.ts'

/** The claims of a logout token that are used (OpenID Connect Back-Channel Logout §2.4). */
export interface LogoutToken {
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
export function createLogoutTokens() {
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
