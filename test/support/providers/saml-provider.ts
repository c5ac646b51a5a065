import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import samlify from 'samlify'
import { atEnd } from '../service/at-end.ts'
import { type Identity, identity } from './certificates.ts'
import type { Form } from './saml-flow.ts'

// Node 24 doesn't find the library's named exports.
const { Constants, IdentityProvider, SamlLib, ServiceProvider } = samlify

// The tests themselves check the service's messages.
samlify.setSchemaValidator({ validate: async () => 'not looked at' })

export interface SamlUser {
  readonly password: string
  readonly nameId: string
  readonly nameIdFormat: string
  readonly attributes: Readonly<Record<string, string | readonly string[]>>
}

export const { format: nameIdFormats } = Constants.namespace

/** Names of attributes as federations use them. */
export const attributeNames = {
  mail: 'urn:oid:0.9.2342.19200300.100.1.3',
  givenName: 'urn:oid:2.5.4.42',
  surname: 'urn:oid:2.5.4.4',
  affiliation: 'urn:oid:1.3.6.1.4.1.5923.1.1.1.9',
  entitlement: 'urn:oid:1.3.6.1.4.1.5923.1.1.1.7',
}

export const person = (nameId: string, email: string, more: Partial<SamlUser> = {}): SamlUser => ({
  password: `password of ${nameId}`,
  nameId,
  nameIdFormat: nameIdFormats.persistent,
  ...more,
  attributes: {
    [attributeNames.mail]: email,
    [attributeNames.givenName]: 'Ada',
    [attributeNames.surname]: 'Byron',
    ...more.attributes,
  },
})

export interface ProviderOptions {
  /** A name that distinguishes providers and their keys. */
  readonly name?: string
  /** The element that is signed; the assertion by default. */
  readonly sign?: 'assertion' | 'response' | 'both'
  /** The algorithm to encrypt with for the service's certificate. */
  readonly encrypt?: 'aes128-gcm' | 'aes128-cbc' | 'aes256-cbc'
  /** False by default: requests are accepted with or without a signature. */
  readonly wantsSignedRequests?: boolean
  readonly hasLogout?: boolean
  /** True if it remembers the user of a browser. By default, it asks each time. */
  readonly remembers?: boolean
}

interface MetadataOptions {
  /** The current certificate by default. */
  readonly certificates?: readonly string[]
  readonly validUntil?: Date
}

export interface SamlProvider {
  readonly entityId: string
  readonly address: string
  /** Users by name; they may be changed at any time. */
  readonly users: Map<string, SamlUser>
  readonly identity: Identity
  metadata(options?: MetadataOptions): string
  /** Gives the provider the service's metadata, as its operator does. */
  trust(metadata: string): void
  /** Makes it sign with another key from now on. */
  changeKey(to: Identity): void
  /** Returns the number of sessions of this user, or of all. A session lasts from login to logout. */
  sessions(user?: string): number
  /** Login requests received, oldest first. */
  readonly requests: readonly AuthnRequest[]
  /** Status codes of the answers to its own logout requests. */
  readonly logoutAnswers: readonly string[]
  /** Returns a signed request, by redirect, that the service end the user's last session. */
  logoutUrl(user: string): string
  /** Returns such a request by POST. */
  logoutForm(user: string): Form
}

interface AuthnRequest {
  readonly id: string
  readonly xml: string
  readonly isSigned: boolean
  readonly relayState: string
}

interface Session {
  readonly index: string
  /** The time at which the user entered the password. */
  readonly at: Date
  readonly user: string
  readonly nameId: string
  readonly nameIdFormat: string
}

/** A session that may have ended, and can still be named in a request. */
interface Known extends Session {
  isLive: boolean
}

export async function startSamlProvider(
  t: TestContext,
  options: ProviderOptions = {},
): Promise<SamlProvider> {
  const { name = 'idp', sign = 'assertion', encrypt, wantsSignedRequests = false, hasLogout = true } = options
  const { remembers = false } = options
  const users = new Map<string, SamlUser>()
  const known: Known[] = []
  const requests: AuthnRequest[] = []
  const logoutAnswers: string[] = []
  let own = identity(name)
  let trusted: string | undefined

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const said = error instanceof Error ? error.message : String(error)
      response.writeHead(400, { 'content-type': 'text/plain' }).end(`refused: ${said}\n`)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const entityId = `${address}/metadata`

  function metadata({ certificates = [own.certificate], validUntil }: MetadataOptions = {}): string {
    const { redirect, post } = Constants.namespace.binding
    const xml = IdentityProvider({
      entityID: entityId,
      signingCert: [...certificates],
      wantAuthnRequestsSigned: wantsSignedRequests,
      nameIDFormat: [nameIdFormats.persistent],
      singleSignOnService: [{ Binding: redirect, Location: `${address}/sso` }],
      // The library prints a message if logout addresses are missing.
      singleLogoutService: [redirect, post].map(Binding => ({ Binding, Location: `${address}/slo` })),
    }).getMetadata()
    const shown = hasLogout
      ? xml
      : xml.replaceAll(/<SingleLogoutService[^>]*>(<\/SingleLogoutService>)?/g, '')
    return validUntil === undefined
      ? shown
      : shown.replace('<EntityDescriptor', `<EntityDescriptor validUntil="${validUntil.toISOString()}"`)
  }

  function service(): ReturnType<typeof ServiceProvider> {
    assert.ok(trusted, 'the provider knows the service')
    const wantsAssertion = sign !== 'response'
    return ServiceProvider({
      metadata: trusted.replace(/WantAssertionsSigned="\w+"/, `WantAssertionsSigned="${wantsAssertion}"`),
      wantMessageSigned: sign !== 'assertion',
      wantLogoutRequestSigned: true,
      wantLogoutResponseSigned: true,
    })
  }

  /** @param wantsSigned true if login requests must be signed */
  function itself(format: string = nameIdFormats.persistent, wantsSigned = false) {
    return IdentityProvider({
      metadata: metadata()
        .replace(/WantAuthnRequestsSigned="\w+"/, `WantAuthnRequestsSigned="${wantsSigned}"`)
        .replace(/<NameIDFormat>[^<]*/, `<NameIDFormat>${format}`),
      privateKey: own.privateKey,
      isAssertionEncrypted: encrypt !== undefined,
      ...(encrypt === undefined ? {} : { dataEncryptionAlgorithm: encryptions[encrypt] }),
      // A service without a certificate can't sign.
      wantLogoutRequestSigned: /use="signing"/.test(trusted ?? ''),
      wantLogoutResponseSigned: /use="signing"/.test(trusted ?? ''),
    })
  }

  const answers: Readonly<Record<string, typeof answer>> = {
    'GET /metadata': async (_, response) => {
      response.writeHead(200, { 'content-type': 'application/samlmetadata+xml' }).end(metadata())
    },
    'GET /sso': async (request, response) => {
      const search = searchOf(request)
      const asked = await readRequest(search)
      const isTrue = (name: string) => asked.request.xml.includes(`${name}="true"`)
      const session = isTrue('ForceAuthn') ? undefined : rememberedIn(request)
      const user = session && users.get(session.user)
      if (session && user) await sendBack(response, asked, session, user)
      else if (isTrue('IsPassive')) sendPage(response, 200, sendingPage(notPassive(asked.request)))
      else sendPage(response, 200, loginPage(search))
    },
    'POST /sso': async (request, response) => {
      const form = new URLSearchParams(await text(request))
      const search = form.get('request') ?? ''
      const asked = await readRequest(search)
      const user = users.get(form.get('user') ?? '')
      if (user === undefined || user.password !== form.get('password'))
        return sendPage(response, 401, loginPage(search))
      const index = `_${randomUUID()}`
      const session = { index, at: new Date(), user: form.get('user') ?? '', ...user, isLive: true }
      known.push(session)
      if (remembers) response.setHeader('set-cookie', `${cookieName()}=${index}; Path=/; HttpOnly`)
      await sendBack(response, asked, session, user)
    },
    'GET /slo': async (request, response) => {
      const message = redirected(searchOf(request))
      if (message.query.SAMLResponse !== undefined) {
        const { samlContent } = await itself().parseLogoutResponse(service(), 'redirect', message)
        logoutAnswers.push(/StatusCode[^>]*Value="[^"]*:(\w+)"/.exec(samlContent)?.[1] ?? '')
        return sendPage(response, 200, '<p>You are logged out.</p>')
      }
      const parsed = await itself().parseLogoutRequest(service(), 'redirect', message)
      const { nameID, sessionIndex } = parsed.extract
      for (const session of known)
        if (
          session.nameId === nameID &&
          (sessionIndex === undefined || session.index === String(sessionIndex))
        )
          session.isLive = false
      const relayState = message.query.RelayState ?? ''
      const { context } = itself().createLogoutResponse(service(), { ...parsed }, 'redirect', { relayState })
      response.writeHead(303, { location: context }).end()
    },
    'POST /slo': async (request, response) => {
      const body = Object.fromEntries(new URLSearchParams(await text(request)))
      const { samlContent } = await itself().parseLogoutResponse(service(), 'post', { body })
      logoutAnswers.push(/StatusCode[^>]*Value="[^"]*:(\w+)"/.exec(samlContent)?.[1] ?? '')
      sendPage(response, 200, '<p>You are logged out.</p>')
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/\?.*/, '')
    const handler = answers[`${request.method} ${path}`]
    if (handler === undefined) response.writeHead(404).end()
    else await handler(request, response)
  }

  const cookieName = () => `saml-session-${new URL(address).port}`
  function rememberedIn({ headers }: IncomingMessage): Known | undefined {
    const cookies = (headers.cookie ?? '').split('; ')
    return known.find(one => one.isLive && cookies.includes(`${cookieName()}=${one.index}`))
  }

  async function sendBack(
    response: ServerResponse,
    { parsed, request }: Awaited<ReturnType<typeof readRequest>>,
    session: Session,
    user: SamlUser,
  ): Promise<void> {
    requests.push(request)
    const { context, entityEndpoint } = await loginResponse(parsed, session, user)
    const fields = { SAMLResponse: context, RelayState: request.relayState }
    sendPage(response, 200, sendingPage({ action: entityEndpoint, fields }))
  }

  /** Answers a request that forbids interaction when no user is logged in (SAML Core §3.4.1). */
  function notPassive(asked: AuthnRequest): Form {
    requests.push(asked)
    const action = String(service().entityMeta.getAssertionConsumerService('post'))
    const code = (name: string, inside = '') =>
      `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${name}">${inside}</samlp:StatusCode>`
    const xml = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_${randomUUID()}" Version="2.0" IssueInstant="${new Date().toISOString()}" Destination="${action}" InResponseTo="${asked.id}"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${entityId}</saml:Issuer><samlp:Status>${code('Responder', code('NoPassive'))}</samlp:Status></samlp:Response>`
    return {
      action,
      fields: { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: asked.relayState },
    }
  }

  /** Reads a request, and refuses one without the signature that the service's metadata promise. */
  async function readRequest(search: string) {
    const message = redirected(search)
    const sender = service()
    const isSigned = wantsSignedRequests || sender.entityMeta.isAuthnRequestSigned()
    const parsed = await itself(undefined, isSigned).parseLoginRequest(sender, 'redirect', message)
    assert.equal(parsed.extract.issuer, sender.entityMeta.getEntityID())
    const { id, assertionConsumerServiceUrl } = parsed.extract.request ?? {}
    const own = sender.entityMeta.getAssertionConsumerService('post')
    if (assertionConsumerServiceUrl !== undefined) assert.equal(assertionConsumerServiceUrl, own)
    const relayState = message.query.RelayState ?? ''
    return { parsed, request: { id: String(id), xml: parsed.samlContent, isSigned, relayState } }
  }

  type Asked = Awaited<ReturnType<typeof readRequest>>['parsed']

  async function loginResponse(asked: Asked, session: Session, user: SamlUser) {
    const sender = service()
    const idp = itself(user.nameIdFormat)
    const acs = String(sender.entityMeta.getAssertionConsumerService('post'))
    const now = Date.now()
    const soon = new Date(now + 300_000).toISOString()
    const id = `_${randomUUID()}`
    const values = {
      ID: id,
      AssertionID: `_${randomUUID()}`,
      Destination: acs,
      SubjectRecipient: acs,
      Audience: sender.entityMeta.getEntityID(),
      Issuer: entityId,
      IssueInstant: new Date(now).toISOString(),
      StatusCode: Constants.StatusCode.Success,
      ConditionsNotBefore: new Date(now).toISOString(),
      ConditionsNotOnOrAfter: soon,
      SubjectConfirmationDataNotOnOrAfter: soon,
      NameIDFormat: user.nameIdFormat,
      NameID: user.nameId,
      InResponseTo: String(asked.extract.request?.id),
    }
    const made = await idp.createLoginResponse(
      sender,
      { ...asked },
      'post',
      { email: user.nameId },
      {
        encryptThenSign: encrypt !== undefined && sign !== 'assertion',
        customTagReplacement: template => ({
          id,
          context: SamlLib.replaceTagsByValue(
            template
              .replace('{AuthnStatement}', authnStatement(session))
              .replace('{AttributeStatement}', attributeStatement(user.attributes)),
            values,
          ),
        }),
      },
    )
    return { context: made.context, entityEndpoint: acs }
  }

  function logoutRequest(user: string, binding: 'redirect' | 'post') {
    const session = known.findLast(one => one.user === user)
    assert.ok(session, `${user} has been logged in`)
    session.isLive = false
    const who = { logoutNameID: session.nameId, sessionIndex: session.index }
    return itself(session.nameIdFormat).createLogoutRequest(service(), binding, who, { relayState: 'bye' })
  }

  return {
    entityId,
    address,
    users,
    get identity() {
      return own
    },
    metadata,
    trust: xml => {
      trusted = xml
    },
    changeKey: to => {
      own = to
    },
    sessions: user => known.filter(one => one.isLive && (user === undefined || one.user === user)).length,
    requests,
    logoutAnswers,
    logoutUrl: user => logoutRequest(user, 'redirect').context,
    logoutForm: user => ({
      action: String(service().entityMeta.getSingleLogoutService('post')),
      fields: { SAMLRequest: logoutRequest(user, 'post').context, RelayState: 'bye' },
    }),
  }
}

const encryptions = {
  'aes128-gcm': Constants.algorithms.encryption.data.AES_128_GCM,
  'aes128-cbc': Constants.algorithms.encryption.data.AES_128,
  'aes256-cbc': Constants.algorithms.encryption.data.AES_256,
}

const searchOf = ({ url = '' }: IncomingMessage) => url.slice(url.indexOf('?') + 1)

/** Returns a message sent by redirect, with the signed text as it was sent (SAML bindings §3.4.4.1). */
function redirected(search: string) {
  const parts = new Map(search.split('&').map(part => [part.replace(/=.*/s, ''), part]))
  const octetString = ['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg']
    .flatMap(name => parts.get(name) ?? [])
    .join('&')
  const query: Partial<Record<string, string>> = Object.fromEntries(new URLSearchParams(search))
  return { query, octetString }
}

const authnStatement = ({ index, at }: Session) =>
  `<saml:AuthnStatement AuthnInstant="${at.toISOString()}" SessionIndex="${index}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`

/** Returns a statement with attributes of one or more values, or an empty string if there are none. */
export function attributeStatement(attributes: SamlUser['attributes']): string {
  const all = Object.entries(attributes).map(([name, values]) => {
    const list = [values].flat().map(value => `<saml:AttributeValue>${escaped(value)}</saml:AttributeValue>`)
    return `<saml:Attribute Name="${escaped(name)}" NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:uri">${list.join('')}</saml:Attribute>`
  })
  return all.length === 0 ? '' : `<saml:AttributeStatement>${all.join('')}</saml:AttributeStatement>`
}

/** Escapes a text for XML and HTML. */
export const escaped = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const loginPage = (search: string) =>
  `<form method="post" action="/sso"><input type="hidden" name="request" value="${escaped(search)}"><label>User <input name="user" autocomplete="username"></label><label>Password <input type="password" name="password"></label><button type="submit">Log in</button></form>`

/** Returns a page that submits itself with a script, and has a button for browsers without. */
function sendingPage({ action, fields }: Form): string {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`,
  )
  return `<form method="post" action="${escaped(action)}">${inputs.join('')}<button type="submit">Go on</button></form><script>document.forms[0].submit()</script>`
}

function sendPage(response: ServerResponse, status: number, body: string): void {
  response
    .writeHead(status, { 'content-type': 'text/html; charset=utf-8' })
    .end(`<!doctype html><html lang="en"><title>Test provider</title><body>${body}</body></html>`)
}
