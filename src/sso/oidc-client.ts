import * as client from 'openid-client'
import { isLoopback, type OidcConfig } from '../config/providers.ts'
import { Declined, Refused, Unavailable } from './protocol.ts'

/**
 * The one file that knows the OpenID Connect library: requests to a provider, and the meaning of the library's errors.
 */
interface OidcClient {
  /** Returns the discovery document, which is kept for ten minutes. @throws Unavailable */
  discover(): Promise<client.ServerMetadata>
  authorizationUrl(parameters: Readonly<Record<string, string>>): Promise<string>
  codeChallenge(verifier: string): Promise<string>
  /** Trades the code of a callback for tokens (Core §3.1.3) and checks them. @throws Refused, Unavailable */
  redeem(callback: URL, checks: Checks): Promise<Redeemed>
  /** Returns the address of the provider's logout page; undefined if it has none. */
  logoutUrl(parameters: Readonly<Record<string, string>>): Promise<string | undefined>
  /**
   * Asks for a token with a code that can't be right.
   * @param way how the client authenticates; by default, as configured
   * @returns the error code, which should be `invalid_grant`
   */
  tryCredentials(redirectUri: string, way?: OidcConfig['clientAuthentication']): Promise<string>
}

interface Checks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export interface Redeemed {
  readonly claims: Readonly<Record<string, unknown>> & { readonly sub: string }
  readonly idToken: string
  /** Claims of the userinfo endpoint, if the configuration asks for it. */
  readonly more: Readonly<Record<string, unknown>>
}

/** Time in seconds that the provider has to answer. */
const timeout = 5
/** Seconds by which the clocks may differ. */
export const clockTolerance = 30
/** Time in ms for which a discovery document is used. */
const discoveredFor = 10 * 60_000
/** Maximum length of a response in bytes: keys, claims and tokens are far smaller. */
const maxBytes = 1024 * 1024

export function createOidcClient(provider: OidcConfig): OidcClient {
  const { issuer, clientId, clientSecret, clientAuthentication } = provider
  const isLocal = isLoopback(issuer)
  const authenticationBy = (way: OidcConfig['clientAuthentication']) => {
    if (clientSecret === null) return client.None()
    return way === 'basic' ? basic(clientSecret) : client.ClientSecretPost(clientSecret)
  }
  const metadata = { [client.clockTolerance]: clockTolerance }

  /**
   * True if the library accepts the URL: it allows http only where it is told to, and refuses it with an unusual error.
   */
  const isAddress = (url: string | undefined) =>
    (isLocal ? /^https?:$/ : /^https:$/).test(URL.parse(url ?? '')?.protocol ?? '')

  async function ask(): Promise<client.ServerMetadata> {
    const found = await discovering(
      client.discovery(new URL(issuer), clientId, metadata, authenticationBy(clientAuthentication), {
        timeout,
        [client.customFetch]: boundedFetch,
        ...(isLocal && { execute: [client.allowInsecureRequests] }),
      }),
    )
    const server = JSON.parse(JSON.stringify(found.serverMetadata())) as client.ServerMetadata
    for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const)
      if (!isAddress(server[name])) throw new Unavailable(`its discovery document has no usable ${name}`)
    return server
  }

  let asked: { readonly server: Promise<client.ServerMetadata>; readonly until: number } | undefined
  /** Requests that arrive during discovery share its answer, so a provider that is down is asked once. */
  function discover(): Promise<client.ServerMetadata> {
    if (asked && performance.now() < asked.until) return asked.server
    const asking = { server: ask(), until: performance.now() + discoveredFor }
    asked = asking
    asking.server.catch(() => {
      asked = undefined
    })
    return asking.server
  }

  /** Makes a new configuration for each login: the library would keep using keys that the provider has replaced. */
  async function configuration(way = clientAuthentication): Promise<client.Configuration> {
    const made = new client.Configuration(await discover(), clientId, metadata, authenticationBy(way))
    made.timeout = timeout
    made[client.customFetch] = boundedFetch
    if (isLocal) client.allowInsecureRequests(made)
    // The ID token's signature is checked although the token comes over TLS (Core §3.1.3.7, 6).
    client.enableNonRepudiationChecks(made)
    return made
  }

  return {
    discover,
    authorizationUrl: async parameters =>
      client.buildAuthorizationUrl(await configuration(), parameters).href,
    codeChallenge: client.calculatePKCECodeChallenge,

    redeem: async (callback, checks) => redeemed(await configuration(), callback, checks, provider.userInfo),

    logoutUrl: async parameters => {
      const made = await configuration()
      return isAddress(made.serverMetadata().end_session_endpoint)
        ? client.buildEndSessionUrl(made, parameters).href
        : undefined
    },

    tryCredentials: async (redirectUri, way) => errorOfGrant(await configuration(way), redirectUri),
  }
}

async function redeemed(
  made: client.Configuration,
  callback: URL,
  { state, nonce, verifier }: Checks,
  userInfo: boolean,
): Promise<Redeemed> {
  const tokens = await answered(
    client.authorizationCodeGrant(made, callback, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    }),
  )
  const claims = tokens.claims()
  if (!claims || claims.sub === '') throw new Refused('no ID token, or one without a subject')
  if (claims.iat > Date.now() / 1000 + clockTolerance) throw new Refused('an ID token from the future (iat)')
  const more = userInfo ? await answered(client.fetchUserInfo(made, tokens.access_token, claims.sub)) : {}
  return { claims, idToken: tokens.id_token ?? '', more }
}

/** @returns the error code for a code that can't be right */
async function errorOfGrant(made: client.Configuration, redirectUri: string): Promise<string> {
  const parameters = {
    code: 'carrel-sso-check',
    redirect_uri: redirectUri,
    code_verifier: client.randomPKCECodeVerifier(),
  }
  try {
    await client.genericGrantRequest(made, 'authorization_code', parameters)
    return 'accepted'
  } catch (error) {
    if (error instanceof client.ResponseBodyError) return codeOf(error.error)
    if (error instanceof client.WWWAuthenticateChallengeError) return 'invalid_client'
    throw translate(error)
  }
}

/**
 * Authenticates by RFC 6749 §2.3.1. The library's own function also encodes `-`, `.` and `_`, which form-urlencoding
 * leaves as they are (appendix B): providers that don't decode would refuse every client id that is a UUID.
 */
const basic =
  (secret: string): client.ClientAuth =>
  (_server, { client_id }, _body, headers) => {
    const credentials = Buffer.from(`${formEncoded(client_id)}:${formEncoded(secret)}`)
    headers.set('authorization', `Basic ${credentials.toString('base64')}`)
  }

const formEncoded = (text: string) => new URLSearchParams([['', text]]).toString().slice(1)

/** `fetch` with a limit on the size of the response. */
export const boundedFetch = async (url: string, options: object): Promise<Response> => {
  const response = await fetch(url, options)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw new Unavailable('its response is too large')
    chunks.push(chunk)
  }
  const { status, headers } = response
  const hasBody = status !== 204 && status !== 304
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers })
}

/**
 * Translates the library's errors into their meaning here. Their messages quote nothing; quoted data is in their cause.
 */
async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw translate(error)
  }
}

/** Treats an error during discovery as the provider's fault, not the login's. */
const discovering = <T>(work: Promise<T>): Promise<T> =>
  answered(work).catch(error => {
    throw error instanceof Refused ? new Unavailable(error.message) : error
  })

function translate(error: unknown): Error {
  if (error instanceof Refused || error instanceof Unavailable) return error
  if (error instanceof client.AuthorizationResponseError)
    return new Declined(`the provider said ${codeOf(error.error)}`)
  // RFC 6749 §5.2, RFC 6750 §3: status 401 with the header WWW-Authenticate.
  if (error instanceof client.WWWAuthenticateChallengeError)
    return new Refused('the provider refused the client’s credentials (invalid_client) or the access token')
  if (error instanceof client.ResponseBodyError)
    return error.status >= 500
      ? new Unavailable(`it answered with status ${error.status}`)
      : new Refused(`the provider said ${codeOf(error.error)} at its token endpoint`)
  if (error instanceof client.ClientError) {
    if (error.cause instanceof Unavailable) return error.cause
    const { claim, body } =
      (error.cause as { cause?: { claim?: unknown; body?: { issuer?: unknown } } } | undefined)?.cause ?? {}
    const named =
      typeof body?.issuer === 'string' ? `, it names ${JSON.stringify(body.issuer.slice(0, 200))}` : ''
    const about = typeof claim === 'string' ? ` (${claim})` : named
    return isItsFault.has(error.code ?? '')
      ? new Unavailable(error.message)
      : new Refused(`${error.message}${about}`)
  }
  // fetch throws a TypeError if there is no connection; any other error is a fault of Carrel.
  if (!(error instanceof TypeError)) return error as Error
  const { code } = (error.cause ?? {}) as { code?: unknown }
  return new Unavailable(
    `no connection${typeof code === 'string' && /^[A-Z_]+$/.test(code) ? ` (${code})` : ''}`,
  )
}

/** Error codes that mean a fault of the provider itself, not of this login. */
const isItsFault: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_INVALID_SERVER_METADATA',
  'OAUTH_MISSING_SERVER_METADATA',
])

/** RFC 6749 §4.1.2.1: a code is a few plain characters; anything else isn't repeated. */
const codeOf = (code: string) => (/^[a-z_]{1,40}$/.test(code) ? code : 'an error')
