import assert from 'node:assert/strict'
import type { Service } from '../service/service.ts'
import { CookieJar } from './cookie-jar.ts'

/**
 * Sends the requests of the Python package dspace-rest-client, with its headers (dspace_rest_client/client.py
 * on `requests`): a session that keeps cookies and headers, a first POST without a CSRF token, a download
 * whose token is a bare header.
 */
export class PythonClient {
  readonly #api: string
  readonly #public: URL
  readonly #reallyAt: string
  readonly #cookies = new CookieJar()
  /** Headers sent with every request, unless the request has its own of that name. */
  readonly #session = new Headers()
  readonly #user: string
  readonly #password: string
  /** The statuses of all answers. */
  readonly statuses: number[] = []

  constructor(service: Service, user: string, password: string) {
    this.#api = `${service.config.baseUrl}/api`
    this.#public = new URL(service.config.baseUrl)
    this.#reallyAt = service.address
    this.#user = user
    this.#password = password
  }

  get authorization(): string | null {
    return this.#session.get('authorization')
  }

  /**
   * @returns true if the service says that the session is authenticated @param isRepeated true for the second
   * attempt, after a 403
   */
  async authenticate(isRepeated = false): Promise<boolean> {
    const form = new URLSearchParams({ user: this.#user, password: this.#password })
    const answer = await this.#send('POST', `${this.#api}/authn/login`, agent, form.toString())
    this.#updateToken(answer)
    await answer.arrayBuffer()
    if (answer.status === 403) return isRepeated ? false : this.authenticate(true)
    if (answer.status === 401) return false
    const token = answer.headers.get('authorization')
    if (token !== null) this.#session.set('authorization', token)
    const status = await this.#send('GET', `${this.#api}/authn/status`, json)
    return status.status === 200 && ((await status.json()) as Resource).authenticated === true
  }

  async refreshToken(): Promise<Response> {
    return this.#post(`${this.#api}/authn/login`)
  }

  async getItem(uuid: string): Promise<Resource> {
    return read(await this.#get(`${this.#api}/core/items/${uuid}`))
  }

  async getBundles(item: Resource): Promise<readonly Resource[]> {
    const page = await read(await this.#get(`${this.#api}/core/items/${item.uuid}/bundles?size=20&page=0`))
    return listOf(page, 'bundles')
  }

  async getBitstreams(bundle: Resource): Promise<readonly Resource[]> {
    const href = bundle._links.bitstreams?.href ?? `${this.#api}/core/bundles/${bundle.uuid}/bitstreams`
    return listOf(await read(await this.#get(`${href}?size=20&page=0`)), 'bitstreams')
  }

  /** Returns a whole list along `next`, like the package's iterators. */
  async all(path: string, name: string, size: number): Promise<readonly Resource[]> {
    const found: Resource[] = []
    let url: string | undefined = `${this.#api}${path}?size=${size}`
    while (url !== undefined) {
      const page = await read(await this.#get(url))
      found.push(...listOf(page, name))
      url = page._links.next?.href
    }
    return found
  }

  /** Returns any answer; the package returns None unless the status is 200. */
  async downloadBitstream(uuid: string): Promise<Response> {
    const token = await this.getShortLivedToken()
    return this.#get(`${this.#api}/core/bitstreams/${uuid}/content`, {
      ...agent,
      ...(token === undefined ? {} : { authorization: token }),
    })
  }

  async getShortLivedToken(): Promise<string | undefined> {
    const answer = await this.#post(`${this.#api}/authn/shortlivedtokens`)
    return ((await answer.json()) as { token?: string }).token
  }

  async #get(url: string, headers: Readonly<Record<string, string>> = json): Promise<Response> {
    const answer = await this.#send('GET', url, headers)
    this.#updateToken(answer)
    return answer
  }

  /** Sends a POST with a content type but no body. */
  async #post(url: string, isRepeated = false): Promise<Response> {
    const answer = await this.#send('POST', url, json)
    this.#updateToken(answer)
    if (answer.status !== 403 || isRepeated) return answer
    const { message } = (await answer.clone().json()) as { message?: string }
    return message?.includes('CSRF token') ? this.#post(url, true) : answer
  }

  /** Stores the CSRF token as a header, and as a cookie that the service doesn't use. */
  #updateToken({ headers }: Response): void {
    const token = headers.get('dspace-xsrf-token')
    if (token === null) return
    this.#session.set('x-xsrf-token', token)
    this.#cookies.set(this.#public, 'X-XSRF-Token', token)
  }

  async #send(method: string, address: string, own: Readonly<Record<string, string>>, form?: string) {
    const url = new URL(address)
    const headers = new Headers({ accept: '*/*', 'accept-encoding': 'gzip, deflate' })
    for (const [name, value] of [...this.#session, ...Object.entries(own)]) headers.set(name, value)
    const cookies = this.#cookies.header(url)
    if (cookies !== undefined) headers.set('cookie', cookies)
    if (form !== undefined) headers.set('content-type', 'application/x-www-form-urlencoded')
    const answer = await fetch(this.#reallyAt + url.pathname + url.search, {
      method,
      headers,
      ...(form === undefined ? {} : { body: form }),
    })
    this.#cookies.keep(url, answer)
    this.statuses.push(answer.status)
    return answer
  }
}

export interface Resource {
  readonly uuid: string
  readonly name: string
  readonly type?: string
  readonly handle?: string | null
  readonly bundleName?: string
  readonly sizeBytes?: number
  readonly authenticated?: boolean
  readonly metadata?: Readonly<Record<string, readonly { readonly value: string }[]>>
  readonly _embedded?: Readonly<Record<string, readonly Resource[]>>
  readonly _links: Readonly<Record<string, { readonly href: string }>>
}

const agent = { 'user-agent': 'DSpace-Python-REST-Client/0.1.16' }
const json = { 'content-type': 'application/json', ...agent }

async function read(answer: Response): Promise<Resource> {
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  return JSON.parse(text) as Resource
}

const listOf = (page: Resource, name: string): readonly Resource[] =>
  page._embedded?.[name] ?? assert.fail(`no list ${name}`)
