import type { Routes, Schemas } from './api.ts'
import { type HalList, listOf } from './hal.ts'
import { canBeExact, exactly } from './json.ts'
import { type LoginMethod, methodsIn } from './login-methods.ts'
import { CarrelProblem } from './problem.ts'
import type { Json } from './query.ts'
import { type Description, Entity, type Query, queryOf } from './records.ts'
import { type Ask, type Element, pathIn, type Request, read } from './routes.ts'
import { bearer, type Session, type SessionListener, Sessions } from './session.ts'
import { openStorage, type TokenStorage } from './storage.ts'
import { type Retries, type Send, Transport } from './transport.ts'

export interface Options {
  /** The storage of the token; `memory` by default. */
  readonly storage?: 'memory' | 'session' | 'local' | TokenStorage
  /** An access token, or an existing login token. */
  readonly token?: string
  /**
   * Called once when the session has ended and a new login is needed. It may show a form and call `login`.
   * Requests that need the login wait until it returns, and fail with `session-over` if there is no session
   * then.
   */
  readonly onLoginNeeded?: () => unknown
  /** Time in seconds before a token expires at which it is renewed; 300 by default. */
  readonly refreshAhead?: number
  /** Renews the token even while no requests are made, so that an open page stays logged in. */
  readonly keepAlive?: boolean
  /** false keeps the session of this client from being shared with other tabs. */
  readonly shared?: boolean
  /**
   * Limits for repeating requests after 429 and 503. The default is three times, with pauses of up to 10
   * seconds.
   */
  readonly retries?: Partial<Retries>
  /** The service's CARREL_QUERY_BASE if it is not the default. */
  readonly queryBase?: string
  /** The service's CARREL_CSRF_HEADER if it is not the default. */
  readonly csrfHeader?: string
  readonly fetch?: typeof fetch
  /**
   * true reads integers beyond Number.MAX_SAFE_INTEGER as BigInt, with all their digits. Otherwise they are
   * rounded to the nearest number. This needs an engine with JSON.rawJSON: Node 22, or a browser of 2025 or
   * later.
   */
  readonly bigint?: boolean
}

export type Status = Schemas['Status']

type ListOptions = Pick<Request, 'path' | 'query'>

/** Entities without described types. */
export type AnyEntities<N = never> = Readonly<Record<string, Readonly<Record<string, Json<N>>>>>

/**
 * @param url the public address of the service, such as `https://repo.example.edu/server`; the empty string
 * stands for the origin of the page
 * @typeParam E the entities and the types of their records, as `carrel types` writes them
 */
export function createClient<E extends { readonly [N in keyof E]: object } = AnyEntities<bigint>>(
  url: string,
  options: Options & { readonly bigint: true },
): Client<E, bigint>
export function createClient<E extends { readonly [N in keyof E]: object } = AnyEntities>(
  url?: string,
  options?: Options,
): Client<E>
export function createClient(url = '', options: Options = {}): Client {
  if (options.bigint && !canBeExact)
    throw new TypeError('This engine has no JSON.rawJSON, which bigint needs')
  const base = url.replace(/\/+$/, '')
  const { storage = 'memory', retries, shared = true } = options
  const name = `carrel:${base}`
  const transport = new Transport({
    url: base,
    queryBase: options.queryBase ?? '/api/query/v4',
    csrfHeader: options.csrfHeader ?? 'DSPACE-XSRF-TOKEN',
    retries: { times: 3, longest: 10, ...retries },
    fetch: options.fetch ?? ((...of) => fetch(...of)),
    parse: options.bigint ? exactly : JSON.parse,
  })
  const kept = typeof storage === 'string' ? openStorage(storage, name) : storage
  if (options.token !== undefined) kept.set(options.token)
  const sessions = new Sessions({
    transport,
    storage: kept,
    channel: shared ? name : undefined,
    refreshAhead: (options.refreshAhead ?? 300) * 1000,
    keepAlive: options.keepAlive ?? false,
    onLoginNeeded: options.onLoginNeeded,
  })
  return new Client(transport, sessions)
}

/** A client of the service, with the rights of its session. */
export class Client<E extends { readonly [N in keyof E]: object } = AnyEntities, N = never> {
  readonly #transport: Transport
  readonly #sessions: Sessions
  /** Headers sent with each request. */
  readonly #headers: Readonly<Record<string, string>>

  readonly get = this.#ask<'get'>('GET')
  readonly post = this.#ask<'post'>('POST')
  readonly put = this.#ask<'put'>('PUT')
  readonly patch = this.#ask<'patch'>('PATCH')
  readonly delete = this.#ask<'delete'>('DELETE')

  /** Parses JSON with the client's settings. */
  get parse(): (text: string) => unknown {
    return this.#transport.settings.parse
  }

  constructor(transport: Transport, sessions: Sessions, headers: Readonly<Record<string, string>> = {}) {
    this.#transport = transport
    this.#sessions = sessions
    this.#headers = headers
  }

  /** The public address of the service, as given to `createClient`. */
  get url(): string {
    return this.#transport.settings.url
  }

  /** The current session; undefined if there is none. */
  get session(): Session | undefined {
    return this.#sessions.current
  }

  /** @returns a function that removes the listener */
  onSession(listener: SessionListener): () => void {
    return this.#sessions.listen(listener)
  }

  /** @throws CarrelProblem `login-failed`; `too-many-attempts` with `retryAfter` */
  async login(
    user: string,
    password: string,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    await this.#sessions.logIn({ body: new URLSearchParams({ user, password }), signal })
  }

  /**
   * Logs in with the secret of a login link, which `carrel open` makes. It works once.
   * @throws CarrelProblem `login-failed`
   */
  async openLink(link: string): Promise<void> {
    await this.#sessions.logIn({ body: new URLSearchParams({ link }) })
  }

  /**
   * Resumes a session when a page starts: one from the storage, from another tab, or from a single sign-on
   * that has just returned.
   */
  async resume(): Promise<Session | undefined> {
    await this.#sessions.adopt()
    // A page may be public, so this asks for no login.
    const { token } = this.#sessions
    const response = await this.#transport.send('GET', '/api/authn/status', { headers: bearer(token) })
    const { authenticated } = (await response.json()) as Status
    if (authenticated && token === undefined) await this.trade()
    else if (!authenticated && token !== undefined) this.#sessions.change(undefined, 'expired')
    return this.session
  }

  /** Exchanges the cookie of a single sign-on, which is valid for a minute, for a session. */
  async trade(): Promise<void> {
    await this.#sessions.logIn({})
  }

  /**
   * @param returnTo the address to which a single sign-on returns the browser; the current page by default
   */
  async loginMethods(returnTo = globalThis.location?.href): Promise<readonly LoginMethod[]> {
    const { headers } = await this.#transport.send('GET', '/api/authn/status')
    return methodsIn(headers.get('www-authenticate') ?? '', returnTo)
  }

  /** Renews the token now. Requests do so by themselves when it is due. */
  async refresh(): Promise<void> {
    await this.#sessions.refresh()
  }

  /**
   * Logs out on every device and in every tab.
   *
   * @returns `provider` is the address at which the browser can log out at the provider, too
   */
  async logout(): Promise<{ readonly provider: string | undefined }> {
    const { headers } = await this.#sessions.logOut()
    return { provider: /<([^>]*)>; *rel="logout"/.exec(headers.get('link') ?? '')?.[1] }
  }

  /** Returns the caller as the service sees it. */
  async status(): Promise<Status> {
    return this.get('/api/authn/status')
  }

  /** Returns a client with the same session in which an administrator acts on behalf of an eperson. */
  onBehalfOf(eperson: string, { reason }: { readonly reason?: string } = {}): Client<E, N> {
    // A header value consists of bytes; these are the UTF-8 encoding of the reason.
    const bytes = reason && String.fromCharCode(...new TextEncoder().encode(reason))
    return new Client(this.#transport, this.#sessions, {
      'x-on-behalf-of': eperson,
      ...(bytes ? { 'x-on-behalf-of-reason': bytes } : {}),
    })
  }

  /**
   * @param path a path such as `/api/core/items`, or a link of the service
   * @throws CarrelProblem, CarrelNetworkError, or the reason of the signal
   */
  async request(method: string, path: string, given: Request = {}): Promise<Response> {
    const token = given.anonymous ? undefined : await this.#sessions.fresh()
    const send = (bearing: string | undefined) =>
      this.#transport.send(method, pathIn(path, given.path), {
        ...given,
        headers: { ...this.#headers, ...bearer(bearing), ...given.headers },
      })
    try {
      return await send(token)
    } catch (error) {
      if (token === undefined || !(error instanceof CarrelProblem) || error.status !== 401) throw error
      await this.#sessions.lost(token).catch(() => {
        throw error
      })
      return await send(this.#sessions.token)
    }
  }

  /** Returns the address at which this client requests a path. */
  address(path: string, query?: Send['query']): string {
    return this.#transport.address(pathIn(path), query)
  }

  /** Lists the entities that the caller may read, with their fields. */
  entities(given?: Pick<Send, 'signal'>): Promise<readonly Description[]> {
    return this.get(this.#transport.settings.queryBase, given)
  }

  entity<Name extends keyof E & string>(name: Name): Entity<E[Name], E> {
    return new Entity(this, this.#transport.settings.queryBase, name)
  }

  /** A query in PQL of any entity. */
  pql<T = Readonly<Record<string, Json<N>>>>(query: string): Query<T> {
    return queryOf<T>(this, this.#transport.settings.queryBase, { query })
  }

  /** A list in DSpace's form, such as `/api/core/items`. `for await` iterates over all of its pages. */
  list<P extends keyof Routes['get'] & string>(path: P, given?: ListOptions): HalList<Element<P>>
  list<T = unknown>(path: string, given?: ListOptions): HalList<T>
  list(path: string, { path: values, query }: ListOptions = {}): HalList<unknown> {
    return listOf(this, pathIn(path, values), query ?? {})
  }

  #ask<M extends keyof Routes>(method: string): Ask<M> {
    return (async (path: string, given?: Request) =>
      read(await this.request(method, path, given), this.parse)) as Ask<M>
  }

  /** Stops renewing the token and talking to other tabs. */
  close(): void {
    this.#sessions.close()
  }
}
