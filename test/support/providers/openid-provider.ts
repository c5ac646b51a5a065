import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type {
  AccountClaims,
  Adapter,
  AdapterPayload,
  ClientMetadata,
  Configuration,
  InteractionResults,
  JWK,
  KoaContextWithOIDC,
} from 'oidc-provider'
import { baseUrl } from '../service/service.ts'

/** A real OpenID provider on loopback, with a login form and both kinds of logout. */
export interface OpenIdProvider {
  readonly issuer: string
  /** Users who may log in, by name. The password is `password of <user name>`. */
  readonly users: Map<string, AccountClaims>
  /** Returns Carrel's settings for this provider. */
  settings(id: string): OpenIdSettings
  /** Redirects back-channel requests for a public address to a real one from now on. */
  reach(publicAddress: string, address: string): void
  /** Results of back-channel requests, oldest first: a status, or an error. */
  readonly backChannel: (number | string)[]
  /** Replaces the signing key by a new one. */
  rotateKeys(): void
  /** Breaks off every connection until `comeUp`. */
  goDown(): void
  comeUp(): void
  stop(): Promise<void>
}

export interface OpenIdSettings {
  readonly id: string
  readonly kind: 'oidc'
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: { readonly env: string }
  readonly clientAuthentication?: 'basic' | 'post'
}

type ClientAuthentication = 'basic' | 'post' | 'none'

/**
 * The value of the environment variable that `settings` names. Its characters have to be encoded for HTTP
 * Basic.
 */
export const clientSecret = 'a client+secret: of Carrel/100%'
export const clientSecretVariable = 'TEST_CLIENT_SECRET'

export const providerPasswordOf = (user: string): string => `password of ${user}`

interface Options {
  /** The client of each provider in Carrel's settings, by its id. */
  readonly clients?: Readonly<Record<string, ClientAuthentication>>
  /** Carrel's public addresses, to which users may be sent back. */
  readonly publicAddresses?: readonly string[]
  /** Further addresses for the return, of a proxy that is the client in place of Carrel. */
  readonly callbacks?: readonly string[]
  /** The place of claims about the user. `sub` is always in the ID token. */
  readonly claimsIn?: 'ID token' | 'user info'
}

export async function startOpenIdProvider(options: Options = {}): Promise<OpenIdProvider> {
  const {
    clients = { company: 'basic' },
    publicAddresses = [baseUrl],
    callbacks = [],
    claimsIn = 'ID token',
  } = options
  const users = new Map<string, AccountClaims>()
  const backChannel: (number | string)[] = []
  const reached = new Map<string, string>()
  let isDown = false

  const server = createServer((request, response) => void handle(request, response))
  server.on('connection', socket => {
    if (isDown) socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`

  const store = new Map<string, AdapterPayload>()
  const configuration: Configuration = {
    adapter: model => adapterOf(store, model),
    clients: Object.entries(clients).map(([id, method]) => clientOf(id, method, publicAddresses, callbacks)),
    claims: {
      openid: ['sub', 'groups', 'realm_access'],
      email: ['email', 'email_verified'],
      profile: ['given_name', 'family_name', 'name'],
    },
    clientBasedCORS: () => false,
    conformIdTokenClaims: claimsIn === 'user info',
    // Cookies don't distinguish ports, so two providers need different names.
    cookies: {
      keys: [randomUUID()],
      names: {
        session: `session-${port}`,
        interaction: `interaction-${port}`,
        resume: `resume-${port}`,
      },
    },
    features: {
      backchannelLogout: { enabled: true },
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx, form) => {
          ctx.body = page(`${form}
            <button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>
            <script>document.querySelector('button').click()</script>`)
        },
        postLogoutSuccessSource: ctx => {
          ctx.body = page('Signed out.')
        },
      },
    },
    // The dispatcher that the provider passes is not used, because it refuses loopback.
    fetch: async (url, init) => {
      const { method, headers, body, signal } = init ?? {}
      return fetch(reallyAt(String(url)), {
        redirect: 'manual',
        ...(method === undefined ? {} : { method }),
        ...(headers === undefined ? {} : { headers }),
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      })
    },
    findAccount: (_ctx, sub) => {
      const claims = [...users.values()].find(known => known.sub === sub)
      return claims && { accountId: sub, claims: async () => claims }
    },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    loadExistingGrant: grantEverything,
    pkce: { required: () => true },
    renderError: (ctx, out) => {
      ctx.type = 'html'
      ctx.body = page(`${out.error}: ${out.error_description ?? ''}`)
    },
    ttl: {
      AccessToken: 60,
      AuthorizationCode: 60,
      Grant: 3600,
      IdToken: 60,
      Interaction: 600,
      Session: 3600,
    },
  }

  function reallyAt(url: string): string {
    for (const [publicAddress, address] of reached)
      if (url.startsWith(publicAddress)) return address + url.slice(publicAddress.length)
    return url
  }

  let provider = build()
  /** Creates the provider. Its keys can't be replaced, so a new one on the same store takes over. */
  function build() {
    const built = new Provider(issuer, { ...configuration, jwks: { keys: [newKey()] } })
    // Keeps Koa from printing errors.
    built.silent = true
    built.on('backchannel.success', () => void backChannel.push(200))
    built.on('backchannel.error', (_ctx, error: Error & { response?: Response }) => {
      backChannel.push(error.response?.status ?? error.message)
    })
    const answer = built.callback()
    return { built, answer }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.url?.startsWith('/interaction/')) return void provider.answer(request, response)
    try {
      await interact(request, response)
    } catch (error) {
      response.writeHead(400, html).end(page(String(error)))
    }
  }

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await provider.built.interactionDetails(request, response)
    if (request.method !== 'POST') return void response.writeHead(200, html).end(page(loginForm))
    const form = new URLSearchParams(await text(request))
    const user = form.get('user') ?? ''
    const claims = users.get(user)
    if (form.get('answer') === 'cancel')
      return finish({ error: 'access_denied', error_description: 'The user has cancelled' })
    if (!claims || form.get('password') !== providerPasswordOf(user))
      return void response.writeHead(401, html).end(page(loginForm))
    await finish({ login: { accountId: claims.sub } })

    function finish(result: InteractionResults): Promise<void> {
      return provider.built.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
    }
  }

  return {
    issuer,
    users,
    backChannel,
    settings: id => {
      const method = clients[id] ?? 'basic'
      return {
        id,
        kind: 'oidc',
        name: `Provider ${id}`,
        issuer,
        clientId: clientIdOf(id),
        ...(method === 'none'
          ? {}
          : { clientSecret: { env: clientSecretVariable }, clientAuthentication: method }),
      }
    },
    reach: (publicAddress, address) => void reached.set(publicAddress, address),
    rotateKeys: () => {
      provider = build()
    },
    goDown: () => {
      isDown = true
      server.closeAllConnections()
    },
    comeUp: () => {
      isDown = false
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const Provider = await loadProvider()

/** Loads the library without its warning about any Node.js that is not a version with long-term support. */
async function loadProvider() {
  const { warn } = console
  console.warn = () => {}
  try {
    return (await import('oidc-provider')).default
  } finally {
    console.warn = warn
  }
}

const html = { 'content-type': 'text/html; charset=utf-8' }
const page = (body: string) => `<!doctype html><title>OpenID provider</title>${body}`
const loginForm = `<form method="post">
  <label>User <input name="user" autofocus></label>
  <label>Password <input name="password" type="password"></label>
  <button type="submit" name="answer" value="login">Log in</button>
  <button type="submit" name="answer" value="cancel">Cancel</button>
</form>`

const clientIdOf = (id: string) => `carrel-${id}`

function clientOf(
  id: string,
  method: ClientAuthentication,
  publicAddresses: readonly string[],
  callbacks: readonly string[],
): ClientMetadata {
  const [first = baseUrl] = publicAddresses
  return {
    client_id: clientIdOf(id),
    ...(method === 'none' ? {} : { client_secret: clientSecret }),
    token_endpoint_auth_method: method === 'none' ? 'none' : `client_secret_${method}`,
    redirect_uris: [
      ...publicAddresses.map(address => `${address}/api/authn/sso/oidc/callback/${id}`),
      ...callbacks,
    ],
    post_logout_redirect_uris: publicAddresses.map(address => `${address}/api/authn/sso/logout/done`),
    backchannel_logout_uri: `${first}/api/authn/sso/oidc/logout/${id}`,
    backchannel_logout_session_required: true,
  }
}

/** Creates a key (RFC 7517); the library derives the `kid`. */
function newKey(): JWK {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' } as JWK
}

/** Grants all requested scopes without asking for consent. */
async function grantEverything({ oidc }: KoaContextWithOIDC) {
  const { client, session, provider } = oidc
  if (!client || !session?.accountId) return undefined
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  grant.addOIDCScope([...oidc.requestParamScopes])
  await grant.save()
  return grant
}

/** A storage in memory for one provider. The library's own is shared by all, and warns. */
function adapterOf(store: Map<string, AdapterPayload>, model: string): Adapter {
  const keyOf = (id: string) => `${model} ${id}`
  const where = (is: (payload: AdapterPayload) => boolean) =>
    [...store].find(([key, payload]) => key.startsWith(keyOf('')) && is(payload))?.[1]
  return {
    upsert: async (id, payload) => void store.set(keyOf(id), payload),
    find: async id => store.get(keyOf(id)),
    findByUid: async uid => where(payload => payload.uid === uid),
    findByUserCode: async code => where(payload => payload.userCode === code),
    consume: async id => {
      const payload = store.get(keyOf(id))
      if (payload) payload.consumed = Math.floor(Date.now() / 1000)
    },
    destroy: async id => void store.delete(keyOf(id)),
    revokeByGrantId: async grantId => {
      for (const [key, payload] of store)
        if (key.startsWith(keyOf('')) && payload.grantId === grantId) store.delete(key)
    },
  }
}
