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
  /** Where the token is kept; `memory` unless told otherwise. */
  readonly storage?: 'memory' | 'session' | 'local' | TokenStorage
  /** An access token, or a login token that is there already. */
  readonly token?: string
  /**
   * Called once when a session has ended and somebody is needed to log in again: it may show a form and call `login`. The
   * requests that need it wait; they fail with `session-over` if nobody is logged in when it returns.
   */
  readonly onLoginNeeded?: () => unknown
  /** Seconds before the end of a token at which it is renewed; 300 unless told otherwise. */
  readonly refreshAhead?: number
  /** Renews the token also while nothing is asked. A page that is left open stays logged in then. */
  readonly keepAlive?: boolean
  /** false: this client shares its session with no other tab. */
  readonly shared?: boolean
  /** How requests are repeated after 429 and 503; three times, with pauses of up to 10 seconds, unless told otherwise. */
  readonly retries?: Partial<Retries>
  /** CARREL_QUERY_BASE, if the service has another one. */
  readonly queryBase?: string
  /** CARREL_CSRF_HEADER, if the service has another one. */
  readonly csrfHeader?: string
  readonly fetch?: typeof fetch
  /**
   * true: integers beyond Number.MAX_SAFE_INTEGER are read as BigInt, with all their digits. Otherwise they are the nearest
   * number. It takes an engine with JSON.rawJSON: Node 22, browsers since 2025.
   */
  readonly bigint?: boolean
}

export type Status = Schemas['Status']

type ListOptions = Pick<Request, 'path' | 'query'>

/** Entities whose fields nobody has described. */
export type AnyEntities<N = never> = Readonly<Record<string, Readonly<Record<string, Json<N>>>>>

/**
 * @param url the public address of the service, such as `https://repo.example.edu/server`; empty: the origin of the page
 * @typeParam E the entities and the types of their records, which `carrel types` writes
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

/** The service, as those who are logged in see it. */
export class Client<E extends { readonly [N in keyof E]: object } = AnyEntities, N = never> {
  readonly #transport: Transport
  readonly #sessions: Sessions
  /** Sent with each request. */
  readonly #headers: Readonly<Record<string, string>>

  readonly get = this.#ask<'get'>('GET')
  readonly post = this.#ask<'post'>('POST')
  readonly put = this.#ask<'put'>('PUT')
  readonly patch = this.#ask<'patch'>('PATCH')
  readonly delete = this.#ask<'delete'>('DELETE')

  /** Reads JSON as the client does. */
  get parse(): (text: string) => unknown {
    return this.#transport.settings.parse
  }

  constructor(transport: Transport, sessions: Sessions, headers: Readonly<Record<string, string>> = {}) {
    this.#transport = transport
    this.#sessions = sessions
    this.#headers = headers
  }

  /** The public address that it was made with. */
  get url(): string {
    return this.#transport.settings.url
  }

  /** Who is logged in; undefined: nobody. */
  get session(): Session | undefined {
    return this.#sessions.current
  }

  /** @returns what ends it */
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
   * For the start of a page: takes the session of the storage, of another tab, or of a single sign-on that has just come
   * back.
   */
  async resume(): Promise<Session | undefined> {
    await this.#sessions.adopt()
    // Nobody is asked to log in here: the page may be for everybody.
    const { token } = this.#sessions
    const response = await this.#transport.send('GET', '/api/authn/status', { headers: bearer(token) })
    const { authenticated } = (await response.json()) as Status
    if (authenticated && token === undefined) await this.trade()
    else if (!authenticated && token !== undefined) this.#sessions.change(undefined, 'expired')
    return this.session
  }

  /** Exchanges the cookie of a single sign-on, which lives for a minute, for a session. */
  async trade(): Promise<void> {
    await this.#sessions.logIn({})
  }

  /** @param returnTo where the browser comes back to from a single sign-on; the page, unless told otherwise */
  async loginMethods(returnTo = globalThis.location?.href): Promise<readonly LoginMethod[]> {
    const { headers } = await this.#transport.send('GET', '/api/authn/status')
    return methodsIn(headers.get('www-authenticate') ?? '', returnTo)
  }

  /** Renews the token now. Requests do so by themselves. */
  async refresh(): Promise<void> {
    await this.#sessions.refresh()
  }

  /**
   * On every device, and in every tab.
   * @returns where the browser may go to log out at the provider, too
   */
  async logout(): Promise<{ readonly provider: string | undefined }> {
    const { headers } = await this.#sessions.logOut()
    return { provider: /<([^>]*)>; *rel="logout"/.exec(headers.get('link') ?? '')?.[1] }
  }

  /** Whom the service takes the caller for. */
  async status(): Promise<Status> {
    return this.get('/api/authn/status')
  }

  /** The same session, in which an administrator acts as somebody else. */
  onBehalfOf(eperson: string, { reason }: { readonly reason?: string } = {}): Client<E, N> {
    // A header is bytes: these are of UTF-8.
    const bytes = reason && String.fromCharCode(...new TextEncoder().encode(reason))
    return new Client(this.#transport, this.#sessions, {
      'x-on-behalf-of': eperson,
      ...(bytes ? { 'x-on-behalf-of-reason': bytes } : {}),
    })
  }

  /**
   * @param path such as `/api/core/items`, or a link of the service
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

  /** The address of a path, as it is asked from here. */
  address(path: string, query?: Send['query']): string {
    return this.#transport.address(pathIn(path), query)
  }

  /** The entities that the caller may read, with their fields. */
  entities(given?: Pick<Send, 'signal'>): Promise<readonly Description[]> {
    return this.get(this.#transport.settings.queryBase, given)
  }

  entity<Name extends keyof E & string>(name: Name): Entity<E[Name], E> {
    return new Entity(this, this.#transport.settings.queryBase, name)
  }

  /** A query in PQL, of any entity. */
  pql<T = Readonly<Record<string, Json<N>>>>(query: string): Query<T> {
    return queryOf<T>(this, this.#transport.settings.queryBase, { query })
  }

  /** A list in DSpace's form, such as `/api/core/items`: `for await` goes over all of its pages. */
  list<P extends keyof Routes['get'] & string>(path: P, given?: ListOptions): HalList<Element<P>>
  list<T = unknown>(path: string, given?: ListOptions): HalList<T>
  list(path: string, { path: values, query }: ListOptions = {}): HalList<unknown> {
    return listOf(this, pathIn(path, values), query ?? {})
  }

  #ask<M extends keyof Routes>(method: string): Ask<M> {
    return (async (path: string, given?: Request) =>
      read(await this.request(method, path, given), this.parse)) as Ask<M>
  }

  /** Leaves the other tabs, and renews nothing any more. */
  close(): void {
    this.#sessions.close()
  }
}
