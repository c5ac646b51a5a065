import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { CookieJar } from '../clients/cookie-jar.ts'
import { startService, temporaryFolder } from '../service/service.ts'
import { identity } from './certificates.ts'
import { type ProviderOptions, type SamlProvider, startSamlProvider } from './saml-provider.ts'

/** The origin of the tests' client; nothing listens there. */
export const pages = 'https://ui.example.edu'
export const landing = `${pages}/login?from=saml`

/** A service at the public address. */
export interface Node {
  readonly address: string
  readonly config: { readonly baseUrl: string }
}

/** A browser without a screen, which keeps cookies by host and follows forms and addresses on request. */
export class Visitor {
  readonly jar = new CookieJar()
  #node: Node

  constructor(node: Node) {
    this.#node = node
  }

  /** Makes the public address lead to this node from now on, as a load balancer may do. */
  goesTo(node: Node): this {
    this.#node = node
    return this
  }

  /** Returns the public address of a path. */
  url(path: string): URL {
    const base = new URL(this.#node.config.baseUrl)
    return new URL(path, base)
  }

  async get(address: string | URL, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.#ask(address, { headers })
  }

  /** Submits a form of a page on another host, or on the same host without `page`. */
  async submit(form: Form, page?: string, more: Readonly<Record<string, string>> = {}): Promise<Response> {
    const headers = page === undefined ? more : { origin: new URL(page).origin, ...more }
    return this.#ask(form.action, { method: 'POST', body: new URLSearchParams({ ...form.fields }), headers })
  }

  /** Sends a POST of the service's own client, with a CSRF pair. */
  async post(path: string, headers: Readonly<Record<string, string>> = {}, body?: string): Promise<Response> {
    const csrf = await this.get(this.url('/api/security/csrf'))
    const value = csrf.headers.get('dspace-xsrf-token') ?? ''
    return this.#ask(this.url(path), {
      method: 'POST',
      headers: { 'x-xsrf-token': value, ...headers },
      ...(body === undefined ? {} : { body }),
    })
  }

  /** Exchanges the cookie of the sign-on for a token (X1). */
  trade(): Promise<Response> {
    return this.post('/api/authn/login')
  }

  /** Returns the names of the service's cookies for single sign-on. */
  signOnCookies(): string[] {
    return [...this.jar.all(this.url('/')).keys()].filter(name => /^(__Host-)?CARREL-SSO/.test(name))
  }

  async #ask(address: string | URL, init: RequestInit): Promise<Response> {
    const url = new URL(address)
    const headers = new Headers(init.headers)
    const cookies = this.jar.header(url)
    if (cookies !== undefined) headers.set('cookie', cookies)
    const { baseUrl } = this.#node.config
    const real =
      url.origin === new URL(baseUrl).origin
        ? `${this.#node.address}${url.pathname}${url.search}`
        : new URL(url)
    const answer = await fetch(real, { redirect: 'manual', ...init, headers })
    this.jar.keep(url, answer)
    return answer
  }
}

/** A form with its values. */
export interface Form {
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

/** Returns the only form of a page. */
export function formIn(html: string, page: string): Form {
  const form = /<form[^>]*\saction="([^"]*)"/.exec(html)
  assert.ok(form, html)
  const fields: Record<string, string> = {}
  for (const [, name = '', value = ''] of html.matchAll(
    /<input[^>]*\sname="([^"]*)"(?:[^>]*\svalue="([^"]*)")?/g,
  ))
    fields[unescaped(name)] = unescaped(value)
  return { action: new URL(unescaped(form[1] ?? ''), page).href, fields }
}

const unescaped = (html: string) =>
  html.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

/** Returns the target of a redirect. */
export function locationOf(answer: Response, status = 303): URL {
  assert.equal(answer.status, status)
  return new URL(answer.headers.get('location') ?? '')
}

interface SignIn {
  readonly redirectUrl?: string
  /** The id of the provider, needed if the service has several. */
  readonly provider?: string
  readonly scheme?: string
  /** The visitor whose cookies are used. */
  readonly visitor?: Visitor
}

/** Starts a sign-on. @returns the redirect to the provider */
export async function startSignOn(
  node: Node,
  { redirectUrl = landing, provider, scheme = 'shibboleth', visitor = new Visitor(node) }: SignIn = {},
): Promise<{ visitor: Visitor; answer: Response }> {
  const url = visitor.url(`/api/authn/${scheme}`)
  url.searchParams.set('redirectUrl', redirectUrl)
  if (provider !== undefined) url.searchParams.set('provider', provider)
  return { visitor, answer: await visitor.get(url) }
}

/** Signs on through the provider's form. @returns the service's answer to the assertion */
export async function signIn(
  node: Node,
  provider: Pick<SamlProvider, 'users'>,
  user: string,
  options: SignIn = {},
): Promise<{ visitor: Visitor; answer: Response; form: Form }> {
  const { visitor, answer } = await startSignOn(node, options)
  return { visitor, ...(await finishSignOn(visitor, answer, provider, user)) }
}

/** Continues a sign-on from the answer of its start. */
export async function finishSignOn(
  visitor: Visitor,
  start: Response,
  provider: Pick<SamlProvider, 'users'>,
  user: string,
): Promise<{ answer: Response; form: Form }> {
  const page = locationOf(start).href
  const login = formIn(await (await visitor.get(page)).text(), page)
  const password = provider.users.get(user)?.password ?? ''
  const answered = await visitor.submit({ ...login, fields: { ...login.fields, user, password } }, page)
  const body = await answered.text()
  assert.equal(answered.status, 200, body)
  const form = formIn(body, page)
  return { form, answer: await visitor.submit(form, page) }
}

// The service that belongs to the provider --------------------------------------------------------------------

interface ConfiguredProvider {
  readonly id?: string
  readonly provider: SamlProvider
  /** Further members of the provider's entry in the file. */
  readonly settings?: Readonly<Record<string, unknown>>
}

interface FileOptions {
  /** SAML settings of the service; a key of its own by default. */
  readonly saml?: Readonly<Record<string, unknown>>
  /** Members of the file besides single sign-on. */
  readonly further?: Readonly<Record<string, unknown>>
}

/** Returns settings for a service that trusts these providers, which must be in a file. */
export function withSaml(
  t: TestContext,
  providers: readonly ConfiguredProvider[],
  { saml = ownKey, further = {} }: FileOptions = {},
): { env: Record<string, string>; metadataFile: (id?: string) => string } {
  const folder = temporaryFolder(t)
  const metadataFile = (id = 'uni') => join(folder, `${id}.xml`)
  const entries = providers.map(({ id = 'uni', provider, settings }) => {
    writeFileSync(metadataFile(id), provider.metadata())
    const name = `The ${id}`
    return { id, kind: 'saml', name, metadata: `${id}.xml`, create: true, ...settings }
  })
  writeFileSync(join(folder, ownKey.privateKey.file), serviceIdentity.privateKey)
  writeFileSync(join(folder, ownKey.certificate.file), serviceIdentity.certificate)
  const file = join(folder, 'carrel.json')
  const singleSignOn = { saml, providers: entries }
  writeFileSync(file, JSON.stringify({ CARREL_ALLOWED_ORIGINS: pages, singleSignOn, ...further }))
  return { env: { CARREL_CONFIG: file }, metadataFile }
}

/** The key with which the service signs and decrypts. */
export const serviceIdentity = identity('service')
const ownKey = { privateKey: { file: 'own.key' }, certificate: { file: 'own.crt' } }

/** Gives the service's metadata to its providers, as their operators do. @returns the metadata */
export async function introduce(node: Node, ...providers: readonly SamlProvider[]): Promise<string> {
  const visitor = new Visitor(node)
  const answer = await visitor.get(visitor.url('/api/authn/sso/saml/metadata'))
  const xml = await answer.text()
  assert.equal(answer.status, 200, xml)
  for (const provider of providers) provider.trust(xml)
  return xml
}

interface WithProvider extends FileOptions {
  readonly provider?: ProviderOptions
  /** Members of the provider's entry in the configuration. */
  readonly settings?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a service and a provider that know each other. */
export async function startWithProvider(t: TestContext, options: WithProvider = {}) {
  const provider = await startSamlProvider(t, options.provider)
  const entry = { provider, ...(options.settings === undefined ? {} : { settings: options.settings }) }
  const { env, metadataFile } = withSaml(t, [entry], options)
  const service = await startService(t, { env: { ...env, ...options.env } })
  await introduce(service, provider)
  return { service, provider, metadataFile }
}
