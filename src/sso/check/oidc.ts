import type { OidcConfig } from '../../config/providers.ts'
import { quantity } from '../../lib/quantities.ts'
import type { SignOnAddresses } from '../addresses.ts'
import { clockTolerance, createOidcClient } from '../oidc-client.ts'
import { Refused, Unavailable } from '../protocol.ts'
import { checkAlgorithms, checkClaims } from './attributes.ts'
import { error, type Found, ok, warning } from './findings.ts'
import { ask, checkClock } from './times.ts'

/** Asks an OpenID provider about itself and about Carrel's registration there. */
export async function* checkOidc(
  provider: OidcConfig,
  { addresses }: { readonly addresses: SignOnAddresses },
): AsyncIterable<Found> {
  const client = createOidcClient(provider)
  const redirectUri = addresses.oidcCallback(provider.id)
  try {
    const server = await client.discover()
    yield ok(`issuer ${server.issuer}`)
    yield* checkClock(
      `${provider.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
      clockTolerance,
    )
    if (server.code_challenge_methods_supported && !server.code_challenge_methods_supported.includes('S256'))
      yield warning('it does not announce PKCE with S256')
    for (const scope of provider.scopes)
      if (server.scopes_supported && !server.scopes_supported.includes(scope))
        yield warning(`it does not announce the scope ${scope}`)
    for (const value of provider.acrValues ?? [])
      if (server.acr_values_supported && !server.acr_values_supported.includes(value))
        yield warning(`it does not announce the acr ${value}`)
    if (provider.userInfo && server.userinfo_endpoint === undefined)
      yield error('it has no userinfo endpoint, and userInfo is on')
    yield* checkClaims(provider, server.claims_supported)
    yield* checkAlgorithms(server.id_token_signing_alg_values_supported)
    yield await checkKeys(server.jwks_uri ?? '')
    yield await checkRedirectUri(client, provider, redirectUri)
    yield await checkCredentials(client, provider, redirectUri)
    yield ok(
      server.end_session_endpoint === undefined
        ? 'has no logout page'
        : `has a logout page; register ${addresses.afterLogout} as post-logout redirect URI`,
    )
    yield* checkLogout(provider, server, addresses.oidcLogout(provider.id))
  } catch (cause) {
    if (!(cause instanceof Unavailable) && !(cause instanceof Refused)) throw cause
    yield error(
      `issuer ${provider.issuer}: ${cause.message} (asked at /.well-known/openid-configuration below it)`,
    )
  }
}

/** Checks the logouts that the provider can send. */
function* checkLogout(
  { frontChannelLogout }: OidcConfig,
  server: Awaited<ReturnType<ReturnType<typeof createOidcClient>['discover']>>,
  address: string,
): Iterable<Found> {
  const hasBack = server.backchannel_logout_supported === true
  const hasFront = server.frontchannel_logout_supported === true
  if (hasBack) yield ok(`has back-channel logout; register ${address}`)
  if (frontChannelLogout)
    yield hasFront && server.frontchannel_logout_session_supported !== false
      ? ok(`has front-channel logout; register ${address}, with its session (sid) required`)
      : warning(
          'frontChannelLogout is on, and it does not announce front-channel logout with a session (sid)',
        )
  else if (hasFront && !hasBack)
    yield ok('has front-channel logout only: its logouts end nothing here unless frontChannelLogout is on')
}

async function checkKeys(uri: string): Promise<Found> {
  const answer = await ask(uri)
  const keys = answer?.ok ? ((await answer.json().catch(() => ({}))) as { keys?: unknown }).keys : undefined
  return Array.isArray(keys) && keys.length > 0
    ? ok(`publishes ${quantity(keys.length, 'key')}`)
    : error(`its keys cannot be read at ${uri}`)
}

/**
 * Checks the redirect URI. A provider shows any client at once whether it knows the client and its redirect
 * URI.
 */
async function checkRedirectUri(
  client: ReturnType<typeof createOidcClient>,
  provider: OidcConfig,
  redirectUri: string,
): Promise<Found> {
  const url = await client.authorizationUrl({
    redirect_uri: redirectUri,
    scope: provider.scopes.join(' '),
    state: 'carrel-sso-check',
    nonce: 'carrel-sso-check',
    code_challenge: await client.codeChallenge('carrel-sso-check'.repeat(4)),
    code_challenge_method: 'S256',
  })
  const answer = await ask(url)
  if (!answer || answer.status >= 500) return warning('its login page cannot be reached from this machine')
  const isError = /[?&#/]error\b/i.test(answer.headers.get('location') ?? '')
  if (answer.status < 400 && !isError) return ok(`did not refuse the redirect URI ${redirectUri}`)
  const text = (await answer.text()) + (answer.headers.get('location') ?? '')
  return /redirect.?uri/i.test(text)
    ? error(`it does not know the redirect URI ${redirectUri}: register exactly that`)
    : error(`it refuses the client ${provider.clientId} (status ${answer.status}): is it registered there?`)
}

async function checkCredentials(
  client: ReturnType<typeof createOidcClient>,
  { clientSecret, clientAuthentication }: OidcConfig,
  redirectUri: string,
): Promise<Found> {
  const said = await client.tryCredentials(redirectUri)
  if (said === 'invalid_grant') return ok('accepts the client’s credentials')
  if (said === 'invalid_client' || said === 'unauthorized_client') {
    const other = clientAuthentication === 'basic' ? 'post' : 'basic'
    return clientSecret !== null && (await client.tryCredentials(redirectUri, other)) === 'invalid_grant'
      ? error(`it accepts the client’s credentials only another way: set clientAuthentication to "${other}"`)
      : error(
          'it refuses clientId with clientSecret: check both; neither basic nor post authentication works',
        )
  }
  return warning(`its token endpoint answered ${said} to an invalid code; expected invalid_grant`)
}
