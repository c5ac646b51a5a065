import assert from 'node:assert/strict'
import { readCookie } from './cookie-jar.ts'

/**
 * Makes requests of a page to another origin as a browser does
 * (https://fetch.spec.whatwg.org/#http-cors-protocol): sends preflights, enforces their answers, and limits
 * cookies to their path, scheme and site (RFC 6265bis).
 */
export class CrossOriginBrowser {
  readonly #page: URL
  readonly #reallyAt: (url: URL) => string
  #cookies: StoredCookie[] = []

  /**
   * @param origin of the page @param reallyAt returns the address of the test that answers for a public
   * address
   */
  constructor(origin: string, reallyAt: (url: URL) => string) {
    this.#page = new URL(origin)
    this.#reallyAt = reallyAt
  }

  /**
   * Makes a request of a script, with credentials. @throws if a browser would keep the answer from the page
   */
  async request(method: string, address: string, given: Headers, body?: string): Promise<Answer> {
    const url = new URL(address)
    const unsafe = [...given.keys()].filter(name => !isSafe(name, given.get(name) ?? '')).toSorted()
    if (unsafe.length > 0 || !safeMethods.has(method)) await this.#ask(url, method, unsafe)
    const headers = new Headers(given)
    headers.set('origin', this.#page.origin)
    const response = await this.#send(url, method, headers, body, isSameSite(url, this.#page))
    this.#mustBeAllowed(response, `${method} ${address}`)
    const exposed = namesIn(response, 'access-control-expose-headers')
    return {
      status: response.status,
      url: address,
      text: await response.text(),
      header: name => {
        const value = response.headers.get(name)
        assert.ok(value === null || exposed.has(name) || safeAnswers.has(name), `${name} is not exposed`)
        return value
      },
    }
  }

  /** Navigates to an address. No preflight is sent, and no script sees the answer. */
  visit(address: string): Promise<Response> {
    const headers = new Headers({ accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
    return this.#send(new URL(address), 'GET', headers, undefined, true)
  }

  /** Sends a preflight. */
  async #ask(url: URL, method: string, unsafe: readonly string[]): Promise<void> {
    const what = `preflight of ${method} ${url}`
    const response = await fetch(this.#reallyAt(url), {
      method: 'OPTIONS',
      headers: {
        origin: this.#page.origin,
        'access-control-request-method': method,
        ...(unsafe.length === 0 ? {} : { 'access-control-request-headers': unsafe.join(',') }),
      },
    })
    await response.arrayBuffer()
    assert.ok(response.ok, `${what}: ${response.status}`)
    this.#mustBeAllowed(response, what)
    assert.ok(
      safeMethods.has(method) || namesIn(response, 'access-control-allow-methods').has(method.toLowerCase()),
      `${what}: the method is not allowed`,
    )
    // With credentials, an asterisk is not a wildcard.
    const allowed = namesIn(response, 'access-control-allow-headers')
    for (const name of unsafe) assert.ok(allowed.has(name), `${what}: ${name} is not allowed`)
  }

  #mustBeAllowed({ headers }: Response, what: string): void {
    assert.equal(headers.get('access-control-allow-origin'), this.#page.origin, what)
    assert.equal(headers.get('access-control-allow-credentials'), 'true', what)
  }

  async #send(url: URL, method: string, headers: Headers, body: string | undefined, sameSite: boolean) {
    const cookies = this.#cookies.filter(
      cookie =>
        cookie.host === url.hostname &&
        isBelow(url.pathname, cookie.path) &&
        (!cookie.secure || url.protocol === 'https:') &&
        (sameSite || cookie.sameSite === 'none'),
    )
    if (cookies.length > 0)
      headers.set('cookie', cookies.map(({ name, value }) => `${name}=${value}`).join('; '))
    const response = await fetch(this.#reallyAt(url), {
      method,
      headers,
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    })
    for (const line of response.headers.getSetCookie()) this.#keep(line, url, sameSite)
    return response
  }

  #keep(line: string, url: URL, sameSite: boolean): void {
    const { name, value, attributes } = readCookie(line)
    const cookie: StoredCookie = {
      name,
      value,
      host: url.hostname,
      path: attributes.get('path') ?? '/',
      secure: attributes.has('secure'),
      sameSite: (attributes.get('samesite') ?? 'lax').toLowerCase(),
    }
    if (cookie.secure && url.protocol !== 'https:') return
    if (cookie.sameSite === 'none' ? !cookie.secure : !sameSite) return
    this.#cookies = this.#cookies.filter(
      one => one.name !== name || one.path !== cookie.path || one.host !== cookie.host,
    )
    if (attributes.get('max-age') !== '0') this.#cookies.push(cookie)
  }
}

/** The part of a response that a script can see. */
export interface Answer {
  readonly status: number
  readonly url: string
  readonly text: string
  /** @param name in lower case @throws for a header that the page may not read */
  header(name: string): string | null
}

interface StoredCookie {
  readonly name: string
  readonly value: string
  readonly host: string
  readonly path: string
  readonly secure: boolean
  /** In lower case. */
  readonly sameSite: string
}

const safeMethods = new Set(['GET', 'HEAD', 'POST'])
const safeForms = /^(application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)\b/
const safeHeaders = new Set(['accept', 'accept-language', 'content-language'])
const safeAnswers = new Set([
  'cache-control',
  'content-language',
  'content-length',
  'content-type',
  'expires',
  'last-modified',
  'pragma',
])

const isSafe = (name: string, value: string) =>
  safeHeaders.has(name) || (name === 'content-type' && safeForms.test(value))

const namesIn = ({ headers }: Response, name: string) =>
  new Set((headers.get(name) ?? '').split(',').map(one => one.trim().toLowerCase()))

/** Implements the path match of RFC 6265 §5.1.4. */
const isBelow = (path: string, cookiePath: string) =>
  path === cookiePath || path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`)

/** Compares schemes and the last two labels of the host, which replaces a list of public suffixes. */
const isSameSite = (one: URL, other: URL) =>
  one.protocol === other.protocol &&
  one.hostname.split('.').slice(-2).join('.') === other.hostname.split('.').slice(-2).join('.')
