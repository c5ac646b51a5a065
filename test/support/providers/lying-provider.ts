import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { clientSecret, clientSecretVariable, type OpenIdSettings } from './openid-provider.ts'

/**
 * OpenID providers that follow the protocol (Core, Discovery, Back-Channel Logout, RFC 9207) except in the
 * one point that a test chooses. All share one server. A provider's name is the path of its issuer, its id in
 * Carrel's settings, and part of the name of its only user.
 */
export interface LyingProviders {
  /** Returns Carrel's settings for the provider of this name, which tells this lie. */
  settings(name: string, lie?: Lie): OpenIdSettings
  /** Makes the provider tell this lie from now on. */
  tell(name: string, lie: Lie): void
  /** Returns the requests received so far. */
  seen(name: string): Seen
  /** Returns the provider's user info as a signed token (Core §5.3.2). */
  signedUserInfo(name: string): Promise<string>
  /** Returns a token for the back channel. */
  logoutToken(name: string, change?: (truth: Token) => Token): Promise<string>
  stop(): Promise<void>
}

export interface Seen {
  readonly authorizations: URLSearchParams[]
  readonly tokenRequests: { readonly authorization: string | undefined; readonly form: URLSearchParams }[]
  /** Requests to the targets of redirects. */
  readonly elsewhere: string[]
  /** Secrets in the answers, to search for them where they must not appear. */
  readonly secrets: string[]
}

export interface Token {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  readonly signedWith: Signature
}

type Signature = 'own key' | 'another key' | 'client secret' | 'public key as secret' | 'nothing'

type Json = Readonly<Record<string, unknown>>
type Endpoint = 'discovery' | 'token' | 'jwks' | 'userInfo'

/** A lie, with one member for each place where it is told. Some lies need two places. */
export interface Lie {
  readonly discovery?: (truth: Json) => Json
  /** Changes the parameters that the browser brings back to Carrel. */
  readonly callback?: (truth: URLSearchParams) => URLSearchParams
  readonly idToken?: (truth: Token) => Token
  readonly tokens?: (truth: Json) => Json
  readonly keys?: (truth: readonly Json[]) => readonly Json[]
  readonly userInfo?: (truth: Json) => Json
  readonly acceptsCodesTwice?: true
  /** Answers in place of an endpoint. */
  readonly answers?: Partial<Record<Endpoint, Answer>>
}

type Answer = (response: ServerResponse, name: string, truth: () => Promise<Json>) => void | Promise<void>

export const clientId = 'carrel_1.example-edu'
export const subjectOf = (name: string): string => `subject-of-${name}`
export const emailOf = (name: string): string => `${name}@example.edu`

const now = () => Math.floor(Date.now() / 1000)

const [own, another] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
const ownKey = { ...(await exportJWK(own.publicKey)), kid: 'own', use: 'sig', alg: 'ES256' }

interface Code {
  readonly asked: URLSearchParams
  isUsed: boolean
}

export async function startLyingProviders(): Promise<LyingProviders> {
  const lies = new Map<string, Lie>()
  const sights = new Map<string, Seen>()
  const codes = new Map<string, Code>()
  const server = createServer((request, response) => {
    answer(request, response).catch(error => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const issuerOf = (name: string) => `${origin}/${name}`
  function seen(name: string): Seen {
    const known = sights.get(name) ?? { authorizations: [], tokenRequests: [], elsewhere: [], secrets: [] }
    sights.set(name, known)
    return known
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', origin)
    const [, name = '', ...rest] = url.pathname.split('/')
    const isElsewhere = rest[0] === elsewhere
    if (isElsewhere) seen(name).elsewhere.push(rest.slice(1).join('/'))
    const lie = isElsewhere ? {} : (lies.get(name) ?? {})
    switch (rest.slice(isElsewhere ? 1 : 0).join('/')) {
      case paths.discovery:
        return say('discovery', () => (lie.discovery ?? same)(discoveryOf(issuerOf(name))))
      case 'authorize':
        return authorize(url.searchParams)
      case paths.token:
        return say('token', token)
      case paths.jwks:
        return say('jwks', () => ({ keys: (lie.keys ?? same)([ownKey]) }))
      case paths.userInfo:
        return say('userInfo', () => (lie.userInfo ?? same)(userOf(name)))
      case 'logout':
        return void response
          .writeHead(303, {
            location: `${url.searchParams.get('post_logout_redirect_uri')}?state=${url.searchParams.get('state')}`,
          })
          .end()
      default:
        return void response.writeHead(404).end()
    }

    async function say(endpoint: Endpoint, truth: () => Json | Promise<Json>): Promise<void> {
      const instead = lie.answers?.[endpoint]
      if (instead) return instead(response, name, async () => truth())
      const body = await truth()
      const status = endpoint === 'token' && 'error' in body ? 400 : 200
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }

    /** Authenticates any browser as the provider's only user. */
    function authorize(asked: URLSearchParams): void {
      seen(name).authorizations.push(asked)
      const code = randomUUID()
      codes.set(code, { asked, isUsed: false })
      seen(name).secrets.push(code)
      const truth = new URLSearchParams({ code, state: asked.get('state') ?? '', iss: issuerOf(name) })
      const back = `${asked.get('redirect_uri')}?${(lie.callback ?? same)(truth)}`
      response.writeHead(303, { location: back }).end()
    }

    async function token(): Promise<Json> {
      const form = new URLSearchParams(await text(request))
      const { authorization } = request.headers
      seen(name).tokenRequests.push({ authorization, form })
      if (!isClient(authorization, form)) return { error: 'invalid_client' }
      const code = codes.get(form.get('code') ?? '')
      const { asked } = code ?? {}
      if (
        !code ||
        !asked ||
        (code.isUsed && !lie.acceptsCodesTwice) ||
        form.get('redirect_uri') !== asked.get('redirect_uri') ||
        asked.get('code_challenge') !== s256(form.get('code_verifier') ?? '')
      )
        return { error: 'invalid_grant' }
      code.isUsed = true
      const idToken = await signed((lie.idToken ?? same)(idTokenOf(name, asked.get('nonce'))))
      const accessToken = randomUUID()
      seen(name).secrets.push(idToken, accessToken)
      return (lie.tokens ?? same)({
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: 60,
        id_token: idToken,
      })
    }
  }

  function idTokenOf(name: string, nonce: string | null): Token {
    return {
      header: { alg: 'ES256', kid: 'own' },
      claims: {
        iss: issuerOf(name),
        aud: clientId,
        ...userOf(name),
        sid: `session-of-${name}`,
        nonce,
        iat: now(),
        exp: now() + 60,
      },
      signedWith: 'own key',
    }
  }

  return {
    settings: (name, lie = {}) => {
      lies.set(name, lie)
      return {
        id: name,
        kind: 'oidc',
        name: `Provider ${name}`,
        issuer: issuerOf(name),
        clientId,
        clientSecret: { env: clientSecretVariable },
        clientAuthentication: 'basic',
      }
    },
    tell: (name, lie) => void lies.set(name, lie),
    seen,
    signedUserInfo: name =>
      signed({
        header: { alg: 'ES256', kid: 'own' },
        claims: { iss: issuerOf(name), aud: clientId, ...userOf(name) },
        signedWith: 'own key',
      }),
    logoutToken: async (name, change = same) => {
      const token = await signed(change(logoutTokenOf(issuerOf(name), name)))
      seen(name).secrets.push(token)
      return token
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const paths: Readonly<Record<Endpoint, string>> = {
  discovery: '.well-known/openid-configuration',
  token: 'token',
  jwks: 'jwks',
  userInfo: 'userinfo',
}
/** Path segment of the targets of redirects, at which the truth is told. */
const elsewhere = 'elsewhere'

const same = <T>(truth: T): T => truth

const discoveryOf = (issuer: string): Json => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  userinfo_endpoint: `${issuer}/userinfo`,
  end_session_endpoint: `${issuer}/logout`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
})

const userOf = (name: string) => ({
  sub: subjectOf(name),
  email: emailOf(name),
  email_verified: true,
  given_name: 'Ruth',
  family_name: 'of the Provider',
})

/** Returns the content of a logout token (OpenID Connect Back-Channel Logout 1.0 §2.4). */
const logoutTokenOf = (issuer: string, name: string): Token => ({
  header: { alg: 'ES256', kid: 'own', typ: 'logout+jwt' },
  claims: {
    iss: issuer,
    aud: clientId,
    sub: subjectOf(name),
    sid: `session-of-${name}`,
    iat: now(),
    exp: now() + 120,
    jti: randomUUID(),
    events: { [logoutEvent]: {} },
  },
  signedWith: 'own key',
})
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** Computes the S256 challenge (RFC 7636 §4.6). */
const s256 = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

/**
 * Checks the authentication of the client. Both parts of HTTP Basic are form-encoded (RFC 6749 §2.3.1). Like
 * many providers, this one doesn't decode the id, whose characters are the same in both forms.
 */
function isClient(authorization: string | undefined, form: URLSearchParams): boolean {
  const basic = Buffer.from(/^Basic (.+)$/.exec(authorization ?? '')?.[1] ?? '', 'base64').toString()
  const [sentId, sentSecret = ''] = basic.split(':')
  const [id, secret] = authorization
    ? [sentId, decodeURIComponent(sentSecret.replaceAll('+', ' '))]
    : [form.get('client_id'), form.get('client_secret')]
  return id === clientId && secret === clientSecret
}

async function signed({ header, claims, signedWith }: Token): Promise<string> {
  const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  if (signedWith === 'nothing') return `${encoded(header)}.${encoded(claims)}.`
  const { alg } = header
  return new SignJWT(claims as JWTPayload)
    .setProtectedHeader({ ...header, alg: String(alg) })
    .sign(await keyFor(signedWith), { crit: { nobodyKnowsThis: true } })
}

async function keyFor(signature: Exclude<Signature, 'nothing'>) {
  switch (signature) {
    case 'own key':
      return own.privateKey
    case 'another key':
      return another.privateKey
    case 'client secret':
      return Buffer.from(clientSecret)
    case 'public key as secret':
      return Buffer.from(JSON.stringify(ownKey))
  }
}

// Lies -------------------------------------------------------------------------------------------------------

const claims =
  (change: Readonly<Record<string, unknown>>) =>
  (truth: Token): Token => ({ ...truth, claims: { ...truth.claims, ...change } })

const without =
  (...names: readonly string[]) =>
  (truth: Token): Token => ({
    ...truth,
    claims: Object.fromEntries(Object.entries(truth.claims).filter(([name]) => !names.includes(name))),
  })

const header =
  (change: Readonly<Record<string, unknown>>, signedWith: Signature = 'own key') =>
  (truth: Token): Token => ({ ...truth, header: { ...truth.header, ...change }, signedWith })

/** Announces the algorithms in the provider's discovery document, too. */
const advertising = (...algorithms: readonly string[]) => ({
  discovery: (truth: Json) => ({ ...truth, id_token_signing_alg_values_supported: algorithms }),
})

const anHourAgo = () => now() - 3600
const inAnHour = () => now() + 3600

/** Lies in the ID token. */
export const idTokenLies: Readonly<Record<string, Lie>> = {
  'another-issuer': { idToken: claims({ iss: 'https://elsewhere.example.edu' }) },
  'issuer-with-slash': {
    idToken: truth => claims({ iss: `${truth.claims.iss}/` })(truth),
  },
  'no-issuer': { idToken: without('iss') },
  'another-audience': { idToken: claims({ aud: 'someone-else' }) },
  'no-audience': { idToken: without('aud') },
  'several-audiences-without-azp': { idToken: claims({ aud: [clientId, 'someone-else'] }) },
  'several-audiences-with-wrong-azp': {
    idToken: claims({ aud: [clientId, 'someone-else'], azp: 'someone-else' }),
  },
  'wrong-azp': { idToken: claims({ azp: 'someone-else' }) },
  'another-nonce': { idToken: claims({ nonce: 'another' }) },
  'no-nonce': { idToken: without('nonce') },
  'empty-nonce': { idToken: claims({ nonce: '' }) },
  'alg-none': { idToken: header({ alg: 'none' }, 'nothing') },
  'alg-none-advertised': { idToken: header({ alg: 'none' }, 'nothing'), ...advertising('none') },
  'no-signature': { idToken: header({}, 'nothing') },
  'client-secret': { idToken: header({ alg: 'HS256', kid: undefined }, 'client secret') },
  'client-secret-advertised': {
    idToken: header({ alg: 'HS256', kid: undefined }, 'client secret'),
    ...advertising('HS256', 'ES256'),
  },
  'public-key-as-secret': {
    idToken: header({ alg: 'HS256' }, 'public key as secret'),
    ...advertising('HS256', 'ES256'),
  },
  'another-key': { idToken: header({}, 'another key') },
  'key-in-the-header': {
    idToken: header({ kid: undefined, jwk: ownKey }, 'another key'),
  },
  'unknown-kid': { idToken: header({ kid: 'unknown' }) },
  'critical-header': { idToken: header({ crit: ['nobodyKnowsThis'], nobodyKnowsThis: true }) },
  expired: { idToken: truth => claims({ iat: anHourAgo() - 60, exp: anHourAgo() })(truth) },
  'no-expiry': { idToken: without('exp') },
  'expiry-as-text': { idToken: truth => claims({ exp: String(truth.claims.exp) })(truth) },
  'iat-in-the-future': { idToken: truth => claims({ iat: inAnHour(), exp: inAnHour() + 60 })(truth) },
  'no-iat': { idToken: without('iat') },
  'not-yet-valid': { idToken: truth => claims({ nbf: inAnHour() })(truth) },
  'no-subject': { idToken: without('sub') },
  'empty-subject': { idToken: claims({ sub: '' }) },
  'subject-as-number': { idToken: claims({ sub: 17 }) },
  'subject-as-list': { idToken: claims({ sub: ['one', 'two'] }) },
  'no-id-token': { tokens: ({ id_token: _left, ...rest }) => rest },
  'id-token-is-a-number': { tokens: truth => ({ ...truth, id_token: 1 }) },
  'access-token-of-another-type': { tokens: truth => ({ ...truth, token_type: 'mac' }) },
  'no-access-token': { tokens: ({ access_token: _left, ...rest }) => rest },
}

/** @param change undefined removes a claim */
export const idTokenWith = (change: Readonly<Record<string, unknown>>): Lie => ({ idToken: claims(change) })

const parameters =
  (change: (parameters: URLSearchParams) => void) =>
  (truth: URLSearchParams): URLSearchParams => {
    const changed = new URLSearchParams(truth)
    change(changed)
    return changed
  }

/** Lies in the parameters that the browser brings back, with the original state. */
export const callbackLies: Readonly<Record<string, Lie>> = {
  'another-issuer-in-callback': {
    callback: parameters(given => given.set('iss', 'https://elsewhere.example.edu')),
  },
  'no-issuer-in-callback': { callback: parameters(given => given.delete('iss')) },
  'two-issuers-in-callback': {
    callback: parameters(given => given.append('iss', 'https://elsewhere.example.edu')),
  },
  'no-code': { callback: parameters(given => given.delete('code')) },
  'empty-code': { callback: parameters(given => given.set('code', '')) },
  'another-code': { callback: parameters(given => given.set('code', 'made-up')) },
  'access-denied': { callback: errorOf('access_denied') },
  'server-error': { callback: errorOf('server_error') },
  'unknown-error': { callback: errorOf('<script>alert(1)</script>') },
  'error-and-code': { callback: parameters(given => given.set('error', 'access_denied')) },
}

export function errorOf(error: string) {
  return parameters(given => {
    given.delete('code')
    given.set('error', error)
    given.set('error_description', `The provider says ${error}`)
  })
}

/** Lies in those parameters that keep them from being matched to a login. */
export const stateLies: Readonly<Record<string, Lie>> = {
  'no-state': { callback: parameters(given => given.delete('state')) },
  'empty-state': { callback: parameters(given => given.set('state', '')) },
  'another-state': { callback: parameters(given => given.set('state', 'a'.repeat(43))) },
  'state-with-more': { callback: parameters(given => given.set('state', `${given.get('state')}x`)) },
  'error-without-state': {
    callback: truth => parameters(given => given.delete('state'))(errorOf('access_denied')(truth)),
  },
}

const json = { 'content-type': 'application/json' }
/** An answer longer than any that a provider needs, with the truth at its end. */
async function* longAnswer(truth: () => Promise<Json>) {
  const padding = ' '.repeat(1024 * 1024)
  for (let sent = 0; sent < 16; sent++) yield padding
  yield JSON.stringify(await truth())
}

const failures: Readonly<Record<string, Answer>> = {
  'fails-500': response => void response.writeHead(500, json).end('{"error":"server_error"}'),
  hangs: () => {},
  'hangs-in-the-body': response => void response.writeHead(200, json).write('{'),
  'breaks-off': response => void response.destroy(),
  'is-long': (response, _name, truth) => {
    response.on('error', () => {})
    Readable.from(longAnswer(truth)).pipe(response.writeHead(200, json))
  },
  'is-html': response => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>'),
  'is-html-called-json': response => void response.writeHead(200, json).end('<h1>Hello</h1>'),
  'is-a-list': response => void response.writeHead(200, json).end('[]'),
  'is-null': response => void response.writeHead(200, json).end('null'),
  'is-empty': response => void response.writeHead(204).end(),
}

const nameOf = (endpoint: Endpoint) => endpoint.toLowerCase()
const failing = (endpoint: Endpoint): [string, Lie][] => [
  ...Object.entries(failures).map(([how, answer]): [string, Lie] => [
    `${nameOf(endpoint)}-${how}`,
    { answers: { [endpoint]: answer } },
  ]),
  [
    `${nameOf(endpoint)}-redirects`,
    {
      answers: {
        [endpoint]: (response: ServerResponse, name: string) =>
          void response.writeHead(307, { location: `/${name}/${elsewhere}/${paths[endpoint]}` }).end(),
      },
    },
  ],
]

const discovery = (change: Json): Lie => ({ discovery: truth => ({ ...truth, ...change }) })

/** Lies in the provider's discovery document. */
export const discoveryLies: Readonly<Record<string, Lie>> = {
  ...Object.fromEntries(failing('discovery')),
  'discovery-of-another-issuer': discovery({ issuer: 'https://elsewhere.example.edu' }),
  'discovery-of-a-longer-issuer': { discovery: truth => ({ ...truth, issuer: `${truth.issuer}/` }) },
  'discovery-without-issuer': discovery({ issuer: undefined }),
  'discovery-without-authorization': discovery({ authorization_endpoint: undefined }),
  'discovery-without-token': discovery({ token_endpoint: undefined }),
  'discovery-without-keys': discovery({ jwks_uri: undefined }),
  'discovery-with-script': discovery({ authorization_endpoint: 'javascript:alert(1)' }),
  'discovery-with-nonsense': discovery({ authorization_endpoint: 'nonsense' }),
}

/** Lies of the token endpoint. */
export const tokenEndpointLies: Readonly<Record<string, Lie>> = {
  ...Object.fromEntries(failing('token')),
  'token-elsewhere-in-plain': discovery({ token_endpoint: 'http://elsewhere.example.edu/token' }),
  'id-token-is-no-token': { tokens: truth => ({ ...truth, id_token: 'x.y.z' }) },
}

/** Lies in the provider's keys. */
export const keyLies: Readonly<Record<string, Lie>> = {
  ...Object.fromEntries(failing('jwks')),
  'jwks-empty': { keys: () => [] },
  'jwks-of-another-use': { keys: ([key]) => [{ ...key, use: 'enc' }] },
  'jwks-of-a-secret': { keys: () => [{ kty: 'oct', k: 'c2VjcmV0', kid: 'own', alg: 'HS256' }] },
}

/** Lies in the user info, where Carrel requests it. */
export const userInfoLies: Readonly<Record<string, Lie>> = {
  'userinfo-of-another': { userInfo: truth => ({ ...truth, sub: 'someone-else' }) },
  'userinfo-without-subject': { userInfo: ({ sub: _left, ...rest }) => rest },
  'userinfo-of-a-prefix': { userInfo: truth => ({ ...truth, sub: `${truth.sub} ` }) },
}
export const userInfoFailures: Readonly<Record<string, Lie>> = {
  ...Object.fromEntries(failing('userInfo')),
  'userinfo-nowhere': discovery({ userinfo_endpoint: undefined }),
}

/** Logout tokens that are valid in another form. */
export const logoutTruths: Readonly<Record<string, (truth: Token) => Token>> = {
  'the type in full': header({ typ: 'application/logout+jwt' }),
  'no expiry': without('exp'),
  'several audiences': claims({ aud: [clientId, 'someone-else'] }),
  'the subject alone': without('sid'),
  'the session alone': without('sub'),
  'an iat of a minute ago': truth => claims({ iat: now() - 60 })(truth),
  'an iat in a few seconds': truth => claims({ iat: now() + 10 })(truth),
}

/** Logout tokens without a type of their own, as some providers issue them. */
export const untypedLogouts: Readonly<Record<string, (truth: Token) => Token>> = {
  'no type': header({ typ: undefined }),
  'an empty type': header({ typ: '' }),
  'the type of any token': header({ typ: 'JWT' }),
}

/** Lies in logout tokens. */
export const logoutLies: Readonly<Record<string, (truth: Token) => Token>> = {
  'another issuer': claims({ iss: 'https://elsewhere.example.edu' }),
  'no issuer': without('iss'),
  'another audience': claims({ aud: 'someone-else' }),
  'no audience': without('aud'),
  'another key': header({}, 'another key'),
  'unknown kid': header({ kid: 'unknown' }),
  'alg none': header({ alg: 'none' }, 'nothing'),
  'no signature': header({}, 'nothing'),
  'the client secret': header({ alg: 'HS256', kid: undefined }, 'client secret'),
  'the public key as secret': header({ alg: 'HS256' }, 'public key as secret'),
  'a key in the header': header({ kid: undefined, jwk: ownKey }, 'another key'),
  'a critical header': header({ crit: ['nobodyKnowsThis'], nobodyKnowsThis: true }),
  'the type of another token': header({ typ: 'at+jwt' }),
  'a nonce': claims({ nonce: 'as in an ID token' }),
  'a nonce that is null': claims({ nonce: null }),
  'no events': without('events'),
  'events as a list': claims({ events: [logoutEvent] }),
  'another event': claims({ events: { 'http://schemas.openid.net/event/another': {} } }),
  'an event that is no object': claims({ events: { [logoutEvent]: true } }),
  'neither subject nor session': without('sub', 'sid'),
  'an empty subject': claims({ sub: '', sid: undefined }),
  'a subject that is no text': claims({ sub: 17, sid: undefined }),
  'no jti': without('jti'),
  'an empty jti': claims({ jti: '' }),
  'an expiry that is past': truth => claims({ iat: anHourAgo(), exp: anHourAgo() + 120 })(truth),
  'an iat of three minutes ago': truth => claims({ iat: now() - 180, exp: now() + 120 })(truth),
  'an iat in a minute': truth => claims({ iat: now() + 60, exp: now() + 120 })(truth),
  'an iat of yesterday': truth => claims({ iat: anHourAgo() - 86_400 })(truth),
  'an iat in the future': truth => claims({ iat: inAnHour(), exp: inAnHour() + 120 })(truth),
  'no iat': without('iat'),
}
