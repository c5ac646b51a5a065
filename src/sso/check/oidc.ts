import type { OidcConfig } from '../../config/providers.ts'
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
    yield ok('issuer-found', { issuer: server.issuer })
    yield* checkClock(
      `${provider.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
      clockTolerance,
    )
    if (server.code_challenge_methods_supported && !server.code_challenge_methods_supported.includes('S256'))
      yield warning('pkce-not-announced')
    for (const scope of provider.scopes)
      if (server.scopes_supported && !server.scopes_supported.includes(scope))
        yield warning('scope-not-announced', { scope })
    for (const acr of provider.acrValues ?? [])
      if (server.acr_values_supported && !server.acr_values_supported.includes(acr))
        yield warning('acr-not-announced', { acr })
    if (provider.userInfo && server.userinfo_endpoint === undefined) yield error('user-info-none')
    yield* checkClaims(provider, server.claims_supported)
    yield* checkAlgorithms(server.id_token_signing_alg_values_supported)
    yield await checkKeys(server.jwks_uri ?? '')
    yield await checkRedirectUri(client, provider, redirectUri)
    yield await checkCredentials(client, provider, redirectUri)
    yield server.end_session_endpoint === undefined
      ? ok('logout-page-none')
      : ok('logout-page', { address: addresses.afterLogout })
    yield* checkLogout(provider, server, addresses.oidcLogout(provider.id))
  } catch (cause) {
    if (!(cause instanceof Unavailable) && !(cause instanceof Refused)) throw cause
    yield error('issuer-refused', { issuer: provider.issuer, reason: cause.message })
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
  if (hasBack) yield ok('back-channel-logout', { address })
  if (frontChannelLogout)
    yield hasFront && server.frontchannel_logout_session_supported !== false
      ? ok('front-channel-logout', { address })
      : warning('front-channel-logout-not-announced')
  else if (hasFront && !hasBack) yield ok('front-channel-logout-off')
}

async function checkKeys(uri: string): Promise<Found> {
  const answer = await ask(uri)
  const keys = answer?.ok ? ((await answer.json().catch(() => ({}))) as { keys?: unknown }).keys : undefined
  return Array.isArray(keys) && keys.length > 0
    ? ok('keys-published', { keys: keys.length })
    : error('keys-unreadable', { address: uri })
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
  if (!answer || answer.status >= 500) return warning('login-page-unreachable')
  const isError = /[?&#/]error\b/i.test(answer.headers.get('location') ?? '')
  if (answer.status < 400 && !isError) return ok('redirect-uri-accepted', { address: redirectUri })
  const text = (await answer.text()) + (answer.headers.get('location') ?? '')
  return /redirect.?uri/i.test(text)
    ? error('redirect-uri-unknown', { address: redirectUri })
    : error('client-refused', { clientId: provider.clientId, status: answer.status })
}

async function checkCredentials(
  client: ReturnType<typeof createOidcClient>,
  { clientSecret, clientAuthentication }: OidcConfig,
  redirectUri: string,
): Promise<Found> {
  const said = await client.tryCredentials(redirectUri)
  if (said === 'invalid_grant') return ok('credentials-accepted')
  if (said === 'invalid_client' || said === 'unauthorized_client') {
    const other = clientAuthentication === 'basic' ? 'post' : 'basic'
    return clientSecret !== null && (await client.tryCredentials(redirectUri, other)) === 'invalid_grant'
      ? error('credentials-other-way', { authentication: other })
      : error('credentials-refused')
  }
  return warning('credentials-unknown', { answer: said })
}
