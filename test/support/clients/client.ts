import assert from 'node:assert/strict'
import { passwordOf } from '../service/service.ts'
import { inTime, shortLife } from '../service/waiting.ts'
import { claimsOf } from './jwt.ts'

/** An HTTP client that keeps the CSRF pair and the token, and nothing more. */
export class Client {
  readonly address: string
  #cookie: string | undefined
  #csrf: string | undefined
  token: string | undefined

  constructor(address: string) {
    this.address = address
  }

  /** @param path such as `/api/authn/status` */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    if (this.#cookie && !headers.has('cookie')) headers.set('cookie', this.#cookie)
    if (this.token && !headers.has('authorization')) headers.set('authorization', `Bearer ${this.token}`)
    const response = await fetch(this.address + path, { redirect: 'manual', ...init, headers })
    const csrf = response.headers.get('dspace-xsrf-token')
    const pair = response.headers.getSetCookie().find(cookie => cookie.split(';')[0]?.endsWith(`=${csrf}`))
    if (pair && csrf) {
      this.#cookie = pair.split(';')[0]
      this.#csrf = csrf
    }
    return response
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.request(path, { headers })
  }

  /**
   * Sends a POST with a valid CSRF pair, which is requested first if there is none. So do `patch`, `put` and
   * `delete`.
   */
  post(path: string, body?: Sent, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.#change('POST', path, body, headers)
  }

  patch(path: string, body?: Sent, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.#change('PATCH', path, body, headers)
  }

  put(path: string, body?: Sent, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.#change('PUT', path, body, headers)
  }

  delete(path: string, body?: Sent, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.#change('DELETE', path, body, headers)
  }

  async #change(
    method: string,
    path: string,
    body: Sent | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response> {
    return this.request(path, {
      method,
      ...(body === undefined ? {} : { body }),
      headers: { 'x-xsrf-token': (await this.csrfPair()).value, ...headers },
    })
  }

  /** Returns the CSRF pair in use. */
  async csrfPair(): Promise<{ cookie: string; value: string }> {
    if (!this.#csrf || !this.#cookie) await (await this.get('/api/security/csrf')).arrayBuffer()
    assert.ok(this.#csrf && this.#cookie, 'the service hands out a CSRF pair')
    return { cookie: this.#cookie, value: this.#csrf }
  }

  tryLogin(user: string, password: string): Promise<Response> {
    return this.post('/api/authn/login', new URLSearchParams({ user, password }))
  }

  /** Sends an encoded form unchanged. */
  postForm(path: string, form: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.post(path, form, { 'content-type': 'application/x-www-form-urlencoded', ...headers })
  }

  /** Logs in with the password that `addEperson` gave. @returns the token, which is sent from now on */
  async login(email: string): Promise<string> {
    this.token = undefined
    const response = await this.post(
      '/api/authn/login',
      new URLSearchParams({ user: email, password: passwordOf(email) }),
    )
    assert.equal(response.status, 200, await response.text())
    this.token = bearerOf(response)
    return this.token
  }

  /** Renews the token. The client keeps using its own. @returns the new token */
  async refresh(): Promise<string> {
    const response = await this.post('/api/authn/login')
    assert.equal(response.status, 200, await response.text())
    return bearerOf(response)
  }

  async shortLivedToken(headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const response = await this.post('/api/authn/shortlivedtokens', undefined, headers)
    assert.equal(response.status, 200)
    return ((await response.json()) as { token: string }).token
  }

  /**
   * Uses a new short-lived token. If that fails and the token may have expired meanwhile, everything is
   * repeated with another one, because a machine may pause for the two seconds of its life (T2). `use` throws
   * if the token is refused.
   */
  async withShortLived<T>(
    use: (token: string) => Promise<T>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    return inTime(shortLife, async () => use(await this.shortLivedToken(headers)))
  }

  async status(path = '/api/authn/status', headers: Readonly<Record<string, string>> = {}): Promise<Status> {
    const response = await this.get(path, headers)
    assert.equal(response.status, 200)
    return (await response.json()) as Status
  }

  /** Returns the names of the special groups in the status. */
  async specialGroups(headers: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
    const { _embedded } = await this.status('/api/authn/status', headers)
    return _embedded.specialGroups._embedded.specialGroups.map(group => group.name).sort()
  }

  /** True if the service accepts a token, by default the client's own, as that of a logged-in eperson. */
  async isLoggedIn(token = this.token): Promise<boolean> {
    const response = await this.get('/api/authn/status', token ? { authorization: `Bearer ${token}` } : {})
    assert.equal(response.status, 200)
    return ((await response.json()) as { authenticated: boolean }).authenticated
  }
}

type Sent = string | URLSearchParams | Uint8Array<ArrayBuffer>

/** The body of the status, with the members that tests read. */
export interface Status {
  readonly authenticated: boolean
  readonly _embedded: {
    readonly eperson?: { readonly uuid: string; readonly email: string }
    readonly specialGroups: {
      readonly _embedded: {
        readonly specialGroups: readonly { readonly uuid: string; readonly name: string }[]
      }
    }
  }
}

/** Returns the token of a login. Its `exp` must be an integer, whatever the login method (T2). */
export function bearerOf(response: Response): string {
  const header = response.headers.get('authorization')
  assert.match(header ?? '', /^Bearer \S+$/)
  const token = (header ?? '').slice('Bearer '.length)
  const { exp } = claimsOf(token)
  assert.ok(Number.isInteger(exp), `exp is ${exp}`)
  return token
}
