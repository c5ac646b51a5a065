import type { Routes, Schemas } from './api.ts'
import type { Description } from './description.ts'
import { type HalList, listOf } from './hal.ts'
import { canBeExact, exactly } from './json.ts'
import { type LoginMethod, methodsIn } from './login-methods.ts'
import type { Options } from './options.ts'
import { CarrelProblem } from './problem.ts'
import type { Json } from './query.ts'
import { Entity, type Query, queryOf } from './records.ts'
import { type Ask, type Element, pathIn, type Request, read } from './routes.ts'
import {
  type AskFactor,
  askPasskey,
  type Factor,
  type FactorName,
  fieldsOf,
  type Passkey,
  type PasskeyOptions,
  type PasskeyPurpose,
} from './second-factor.ts'
import { bearer, type Session, type SessionListener, Sessions } from './session.ts'
import { openStorage } from './storage.ts'
import { type Send, Transport } from './transport.ts'

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
    beforeRequest: options.beforeRequest,
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

  /**
   * @param options `secondFactor` is asked once, if the password was right and a second factor is enrolled
   * @throws CarrelProblem `login-failed`; `too-many-attempts` with `retryAfter`; `second-factor-required` if
   * there was no answer, or a wrong one; `second-factor-enrolment-required` if one has to be enrolled first
   */
  async login(
    user: string,
    password: string,
    { signal, secondFactor }: { readonly signal?: AbortSignal; readonly secondFactor?: AskFactor } = {},
  ): Promise<void> {
    try {
      await this.#sessions.logIn({ body: new URLSearchParams({ user, password }), signal })
    } catch (error) {
      if (!(error instanceof CarrelProblem) || error.code !== 'second-factor-required') throw error
      const { ticket, factors } = error.members as { ticket: string; factors: readonly FactorName[] }
      const factor = await secondFactor?.({ factors, passkey: () => this.passkey({ ticket }, { signal }) })
      if (!factor) throw error
      await this.loginByTicket(ticket, factor, { signal })
    }
  }

  /**
   * Goes on with a login. The member `ticket` of `second-factor-required` stands for the password; the ticket
   * of a finished enrolment needs no factor.
   */
  async loginByTicket(
    ticket: string,
    factor?: Factor,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    await this.#sessions.logIn({ body: new URLSearchParams({ ticket, ...fieldsOf(factor) }), signal })
  }

  /** Logs in with a passkey that stands alone, without a name and a password. */
  async loginByPasskey(options?: PasskeyOptions): Promise<void> {
    const factor = await this.passkey({}, options)
    await this.#sessions.logIn({ body: new URLSearchParams(fieldsOf(factor)), signal: options?.signal })
  }

  /**
   * Asks the browser for a passkey.
   * @throws DOMException if the user declines, or there is none
   */
  async passkey(purpose: PasskeyPurpose, options?: PasskeyOptions): Promise<Passkey> {
    return askPasskey(this, purpose, options)
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
