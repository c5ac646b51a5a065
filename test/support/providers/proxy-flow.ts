import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { bearerOf, type Client } from '../clients/client.ts'
import { tradeCookie } from '../clients/cookie-jar.ts'
import { type Service, startService, temporaryFolder } from '../service/service.ts'
import { type Attributes, bytes } from './reverse-proxy.ts'

/** The address of the user interface; nothing listens there. */
export const ui = 'http://ui.example.edu'
/** A page of the user interface, to which logins return. */
export const page = `${ui}/items/1`
/** The path at which a login starts. */
export const start = `/api/authn/shibboleth?redirectUrl=${page}`

/** The header with the secret, and the secret. */
export const secret = { header: 'X-Proxy-Secret', value: 'known to the proxy and the service' }
/** The headers with the attributes. */
export const names = {
  subject: 'X-Shib-Persistent-Id',
  email: 'X-Shib-Mail',
  firstName: 'X-Shib-Given-Name',
  lastName: 'X-Shib-Surname',
}
/** The attributes that the proxy sends for Ruth. */
export const ruth = {
  [names.subject]: 'https://idp.example.edu!https://repo.example.edu!r-1',
  [names.email]: 'ruth@example.edu',
  [names.firstName]: 'Ruth',
  [names.lastName]: 'Example',
}

/** The trusted proxy in the configuration. */
export const provider = {
  id: 'apache',
  kind: 'proxy',
  name: 'Apache',
  addresses: ['127.0.0.1'],
  secretHeader: secret.header,
  secret: { env: 'PROXY_SECRET' },
  separator: ';',
  attributes: names,
  create: true,
}

interface Setting {
  /** Changes to the tests' own provider. */
  readonly provider?: Readonly<Record<string, unknown>>
  /** Settings in the file besides single sign-on. */
  readonly file?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
}

/** Returns settings with a trusted proxy, which must be in a file. */
export function withProxy(t: TestContext, { provider: more = {}, file = {}, env = {} }: Setting = {}) {
  const path = join(temporaryFolder(t), 'carrel.json')
  const singleSignOn = { providers: [{ ...provider, ...more }] }
  writeFileSync(path, JSON.stringify({ singleSignOn, ...file }))
  return { CARREL_CONFIG: path, CARREL_ALLOWED_ORIGINS: ui, PROXY_SECRET: secret.value, ...env }
}

/** Starts a service that trusts the proxy. */
export const startTrusting = (t: TestContext, setting: Setting = {}, more: { dataFolder?: string } = {}) =>
  startService(t, { env: withProxy(t, setting), ...more })

/** A header line of a request. */
export type Header = readonly [name: string, value: string]

/** Returns the headers of the trusted proxy: its secret and the attributes. */
export const trusted = (attributes: Attributes = ruth): Header[] => [
  [secret.header, secret.value],
  ...Object.entries(attributes),
]

interface Answer {
  readonly status: number
  readonly location: string | undefined
  /** Cookies by name. */
  readonly cookies: ReadonlyMap<string, string>
  readonly setCookies: readonly string[]
  readonly body: string
}

interface Sent {
  readonly path?: string
  readonly method?: string
  /** The address from which the request comes. */
  readonly from?: string
  readonly body?: string
}

/** Sends these header lines in this order, including duplicates; values are encoded as UTF-8. */
export async function send(
  { address }: { readonly address: string },
  headers: readonly Header[],
  { path = start, method = 'GET', from = '127.0.0.1', body: sentBody }: Sent = {},
): Promise<Answer> {
  const lines = [['Host', 'repo.example.edu'] as const, ...headers]
  return new Promise((resolve, reject) => {
    const sent = request(
      address + path,
      {
        method,
        localAddress: from,
        agent: false,
        headers: lines.flatMap(([name, value]) => [name, bytes(value)]),
      },
      answer => {
        const setCookies = answer.headers['set-cookie'] ?? []
        const cookies = setCookies.map(cookie => cookie.split(';')[0]?.split('=') ?? [])
        text(answer).then(
          body =>
            resolve({
              status: answer.statusCode ?? 0,
              location: answer.headers.location,
              cookies: new Map(cookies.map(([name = '', value = '']) => [name, value])),
              setCookies,
              body,
            }),
          reject,
        )
      },
    )
    sent.on('error', reject)
    sent.end(sentBody)
  })
}

/** Returns the name of the cookie that is exchanged for a token. */
export const sessionCookie = ({ cookies }: Pick<Answer, 'cookies'>): string | undefined =>
  [...cookies.keys()].find(name => tradeCookie.test(name))

/** Asserts that there is no cookie and no new eperson. */
export async function assertRefused(
  service: Service,
  answer: Answer,
  status = 401,
  code = 'sign-on-refused',
) {
  assert.equal(answer.status, status, answer.body)
  assert.equal((JSON.parse(answer.body) as { code: string }).code, code)
  assert.equal(sessionCookie(answer), undefined)
  assert.equal(answer.location, undefined)
  assert.deepEqual(await service.storage.people.listEpersons(), [])
}

/** Returns the cookie of a successful login, as a client sends it. */
export function cookieOf(answer: Answer): string {
  assert.equal(answer.status, 303, answer.body)
  assert.equal(answer.location, page)
  const name = sessionCookie(answer)
  assert.ok(name, 'the session cookie is there')
  return `${name}=${answer.cookies.get(name)}`
}

/** Sends `POST login` with the cookie. The client keeps its own CSRF pair. */
export async function fetchSession(client: Client, cookie: string): Promise<Response> {
  const pair = await client.csrfPair()
  return fetch(`${client.address}/api/authn/login`, {
    method: 'POST',
    headers: { 'x-xsrf-token': pair.value, cookie: `${pair.cookie}; ${cookie}` },
  })
}

/** Logs in completely. @returns a client that is logged in */
export async function logIn(
  service: Service,
  attributes: Attributes = ruth,
): Promise<Client & { token: string }> {
  const client = service.client()
  const answer = await fetchSession(client, cookieOf(await send(service, trusted(attributes))))
  assert.equal(answer.status, 200, await answer.text())
  return Object.assign(client, { token: bearerOf(answer) })
}
