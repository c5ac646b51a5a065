import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { CookieJar } from '../clients/cookie-jar.ts'
import { baseUrl, type Service, temporaryFolder } from '../service/service.ts'
import { clientSecret, clientSecretVariable, providerPasswordOf } from './openid-provider.ts'

/** An answer, and the address at which the browser received it. */
export interface Page {
  readonly url: URL
  readonly answer: Response
  readonly text: string
}

export class Browser {
  readonly cookies = new CookieJar()
  /** Real addresses by public origin. */
  readonly #addresses: Readonly<Record<string, string>>

  constructor(addresses: Readonly<Record<string, string>>) {
    this.#addresses = addresses
  }

  /** Sends one request, without following redirects. */
  async open(url: string | URL, init: RequestInit = {}): Promise<Page> {
    const asked = new URL(url)
    const headers = new Headers(init.headers)
    const cookies = this.cookies.header(asked)
    if (cookies !== undefined && !headers.has('cookie')) headers.set('cookie', cookies)
    const really = (this.#addresses[asked.origin] ?? asked.origin) + asked.pathname + asked.search
    const answer = await fetch(really, { ...init, redirect: 'manual', headers })
    this.cookies.keep(asked, answer)
    const text = await answer.text()
    // The body can be read again by the tests.
    const kept = new Response(text === '' ? null : text, answer)
    return { url: asked, answer: kept, text }
  }

  /** Follows redirects, and pages that submit themselves, until `isThere` or until they end. */
  async follow(page: Page, isThere: (next: URL) => boolean): Promise<{ page: Page; next: URL | undefined }> {
    for (let current = page, steps = 0; ; steps++) {
      assert.ok(steps < 20, 'redirects do not end')
      const next = locationOf(current)
      if (next === undefined || isThere(next)) return { page: current, next }
      current = await this.open(next)
    }
  }

  /** Submits the form of the page as its first button does. */
  submit(page: Page, filledIn: Readonly<Record<string, string>> = {}): Promise<Page> {
    const form = formIn(page)
    for (const [name, value] of Object.entries(filledIn)) form.fields.set(name, value)
    return this.open(form.action, { method: 'POST', body: form.fields })
  }
}

/** Returns the target of a redirect. */
export function locationOf({ url, answer }: Page): URL | undefined {
  const location = answer.headers.get('location')
  return location === null || answer.status < 300 || answer.status > 399 ? undefined : new URL(location, url)
}

function formIn({ url, text }: Page): { action: URL; fields: URLSearchParams } {
  const [, attributes = ''] = /<form\b([^>]*)>/.exec(text) ?? assert.fail(`no form: ${text}`)
  const fields = new URLSearchParams()
  const [button = ''] = /<button\b[^>]*name=[^>]*>/.exec(text) ?? []
  for (const tag of [...text.matchAll(/<input\b[^>]*>/g)].map(([input]) => input).concat(button)) {
    const name = attributeOf(tag, 'name')
    if (name !== undefined) fields.set(name, attributeOf(tag, 'value') ?? '')
  }
  return { action: new URL(attributeOf(attributes, 'action') ?? '', url), fields }
}

const attributeOf = (tag: string, name: string) =>
  new RegExp(`\\b${name}="([^"]*)"`)
    .exec(tag)?.[1]
    ?.replace(/&quot;|&#34;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')

/** The address of the tests' user interface. */
export const userInterface = 'https://ui.example.edu'
export const home = `${userInterface}/home?from=login#top`

export interface SignIn {
  readonly scheme?: string
  readonly provider?: string
  readonly redirectUrl?: string | null
  /** The user name entered at the provider. */
  readonly user?: string
  /** The public address of Carrel. */
  readonly at?: string
}

/** The steps of a sign-on. */
export interface SignedIn {
  /** The provider's address with the parameters of the request. */
  readonly asked: URL
  /** Carrel's address with the parameters from the provider. */
  readonly returned: URL
  /** Carrel's answer to these. */
  readonly answer: Response
}

/** Signs on: start, form of the provider, callback. */
export async function signIn(browser: Browser, options: SignIn = {}): Promise<SignedIn> {
  const asked = await begin(browser, options)
  const returned = await authenticate(browser, asked, options)
  return { asked, returned, answer: (await browser.open(returned)).answer }
}

/** Starts a sign-on. @returns the address to which the browser is sent */
export async function begin(browser: Browser, options: SignIn = {}): Promise<URL> {
  const page = await browser.open(startOf(options))
  assert.equal(page.answer.status, 303, page.text)
  return locationOf(page) ?? assert.fail('there is no location')
}

export function startOf({ scheme = 'oidc', provider, redirectUrl = home, at = baseUrl }: SignIn): URL {
  const url = new URL(`${at}/api/authn/${scheme}`)
  if (provider !== undefined) url.searchParams.set('provider', provider)
  if (redirectUrl !== null) url.searchParams.set('redirectUrl', redirectUrl)
  return url
}

/** Passes through the provider. @returns the address to which it sends the browser back, not requested yet */
export async function authenticate(
  browser: Browser,
  asked: URL,
  { at = baseUrl, user = 'ruth' }: SignIn = {},
): Promise<URL> {
  const isBack = (next: URL) => next.href.startsWith(`${at}/`)
  let { page, next } = await browser.follow(await browser.open(asked), isBack)
  if (next === undefined) {
    const sent = await browser.submit(page, { user, password: providerPasswordOf(user) })
    ;({ page, next } = await browser.follow(sent, isBack))
  }
  return next ?? assert.fail(`the provider does not send back: ${page.text}`)
}

interface Sent {
  readonly at?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the POST login that follows a sign-on: with a CSRF pair, without a body or a token. */
export const trade = (browser: Browser, sent: Sent = {}): Promise<Response> => post(browser, 'login', sent)

/** Sends the POST logout of a client. */
export const logOut = (browser: Browser, token: string): Promise<Response> =>
  post(browser, 'logout', { headers: { authorization: `Bearer ${token}` } })

async function post(
  browser: Browser,
  what: 'login' | 'logout',
  { at = baseUrl, headers = {} }: Sent,
): Promise<Response> {
  const csrf = await browser.open(`${at}/api/security/csrf`)
  const value = csrf.answer.headers.get('dspace-xsrf-token') ?? ''
  const { answer } = await browser.open(`${at}/api/authn/${what}`, {
    method: 'POST',
    headers: { 'x-xsrf-token': value, ...headers },
  })
  return answer
}

/** Returns a browser for which the service is at its public address. */
export const browserOf = ({ address }: Pick<Service, 'address'>, at = baseUrl): Browser =>
  new Browser({ [new URL(at).origin]: address })

/** Returns settings with single sign-on, which must be in a file, and with other settings that it needs. */
export function withSingleSignOn(
  t: TestContext,
  singleSignOn: object,
  more: object = {},
): Record<string, string> {
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(file, JSON.stringify({ CARREL_ALLOWED_ORIGINS: userInterface, singleSignOn, ...more }))
  return { CARREL_CONFIG: file, [clientSecretVariable]: clientSecret }
}
