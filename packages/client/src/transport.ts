import { toJson } from './json.ts'
import { brokenLine, type CarrelProblem, problemOf } from './problem.ts'

/** Options of a request. */
export interface Send {
  /** Parameters of the address. Undefined ones are left out, and a list becomes repeated parameters. */
  readonly query?: Readonly<Record<string, Parameter | readonly Parameter[] | undefined>>
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** The body. One that can't be sent twice is given as a function that creates it. */
  readonly body?: BodyInit | (() => BodyInit) | null | undefined
  /** A value sent as a JSON body. */
  readonly json?: unknown
  readonly signal?: AbortSignal | undefined
  readonly redirect?: RequestRedirect
  /** The function that makes the request; `fetch` by default. */
  readonly fetch?: typeof fetch
}

type Parameter = string | number | bigint | boolean

export interface Retries {
  /** Maximum number of repetitions; 0 disables them. */
  readonly times: number
  /**
   * Maximum pause in seconds before a repetition. If the service asks for a longer one, the request fails at
   * once.
   */
  readonly longest: number
}

interface Settings {
  /** The service's address without a slash at the end; the empty string stands for the origin of the page. */
  readonly url: string
  readonly queryBase: string
  readonly csrfHeader: string
  readonly retries: Retries
  readonly fetch: typeof fetch
  readonly beforeRequest: (() => unknown) | undefined
  /** Parses JSON. */
  readonly parse: (text: string) => unknown
}

const safe = /^(GET|HEAD|OPTIONS)$/
const idempotent = /^(GET|HEAD|OPTIONS|PUT|DELETE)$/
/** Problems reported before the service has done anything, after which even a POST may be repeated. */
const refusals = new Set(['busy', 'upload-in-use'])
const maxPairs = 3

/** Sends requests with cookies and the CSRF pair, and repeats them. It knows nothing of tokens. */
export class Transport {
  readonly settings: Settings
  /** Called with each new value of the CSRF pair. */
  onPair: (value: string) => void = () => {}
  #pair: string | undefined
  #asking: Promise<unknown> | undefined
  readonly #cookies = new Cookies()

  constructor(settings: Settings) {
    this.settings = settings
  }

  set pair(value: string) {
    this.#pair = value
  }

  /** @throws CarrelProblem, CarrelNetworkError, or the reason of the signal */
  async send(method: string, path: string, given: Send = {}): Promise<Response> {
    // No cookie authenticates requests to the query base, so they need no CSRF pair.
    const { queryBase, retries } = this.settings
    const needsPair = !safe.test(method) && !path.startsWith(queryBase)
    for (let pairs = 0, times = 0; ; ) {
      const response = await this.#once(
        method,
        path,
        given,
        needsPair ? await this.#currentPair() : undefined,
      )
      if (isDone(response)) return response
      const problem = await problemOf(response)
      // The response has brought a new pair, which another tab or request may have replaced again.
      if (needsPair && problem.code.startsWith('csrf-') && ++pairs <= maxPairs) continue
      if (++times > retries.times || !mayRepeat(method, problem, retries.longest)) throw problem
      await pause((problem.retryAfter ?? 0) * 1000 + Math.random() * 250, given.signal)
    }
  }

  /**
   * Returns the address of a path. The part before `/api` is the one with which the client reaches the
   * service.
   */
  address(path: string, query: Send['query'] = {}): string {
    const parameters = new URLSearchParams()
    for (const [name, values] of Object.entries(query))
      for (const value of [values ?? []].flat()) parameters.append(name, String(value))
    const added = parameters.size === 0 ? '' : `${path.includes('?') ? '&' : '?'}${parameters}`
    return this.settings.url + path + added
  }

  async #once(method: string, path: string, given: Send, pair: string | undefined): Promise<Response> {
    await this.settings.beforeRequest?.()
    const { body, json, signal, redirect } = given
    const headers = new Headers()
    const all = {
      'content-type': json === undefined ? undefined : 'application/json',
      accept: 'application/json, */*;q=0.5',
      cookie: this.#cookies.for(pathOf(this.settings.url) + (path.split('?', 1)[0] ?? '')) || undefined,
      'x-xsrf-token': pair,
      ...given.headers,
    }
    for (const [name, value] of Object.entries(all)) if (value !== undefined) headers.set(name, value)
    const content = json === undefined ? (typeof body === 'function' ? body() : body) : toJson(json)
    const init: RequestInit & { duplex?: 'half' } = { method, headers, credentials: 'include' }
    if (content !== undefined && content !== null) init.body = content
    if (content instanceof ReadableStream) init.duplex = 'half'
    if (signal) init.signal = signal
    if (redirect) init.redirect = redirect
    try {
      const response = await (given.fetch ?? this.settings.fetch)(this.address(path, given.query), init)
      this.#cookies.keep(response.headers)
      const issued = response.headers.get(this.settings.csrfHeader)
      if (issued) {
        this.#pair = issued
        this.onPair(issued)
      }
      return response
    } catch (error) {
      throw brokenLine(error, `${method} ${path.split('?', 1)[0]} got no answer`, signal)
    }
  }

  async #currentPair(): Promise<string | undefined> {
    if (this.#pair === undefined) {
      // One request for all that wait, because each response would replace the cookie of the one before.
      this.#asking ??= this.#once('GET', '/api/security/csrf', {}, undefined).finally(() => {
        this.#asking = undefined
      })
      await this.#asking
    }
    return this.#pair
  }
}

/**
 * True for a success, for a 304, which only a conditional request gets, and for a redirect that the caller
 * wants to see.
 */
const isDone = ({ ok, status, type }: Response) =>
  ok || type === 'opaqueredirect' || (status >= 300 && status < 400)

const mayRepeat = (method: string, { status, code, retryAfter }: CarrelProblem, longest: number) =>
  retryAfter !== undefined &&
  retryAfter <= longest &&
  (status === 429 || refusals.has(code) || (status === 503 && idempotent.test(method)))

const pathOf = (url: string) => (/^https?:/.test(url) ? new URL(url).pathname.replace(/\/$/, '') : url)

/** @throws the reason of the signal as soon as it is aborted */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  const stop = () => reject(signal?.reason)
  signal?.addEventListener('abort', stop)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

/**
 * Cookies outside of browsers. Browsers keep their own and hide `Set-Cookie`, so in a browser this stays
 * empty. Each cookie goes only to its paths (RFC 6265 §5.1.4), and only to the service that set it.
 */
class Cookies {
  readonly #kept = new Map<string, { readonly pair: string; readonly path: string }>()

  keep(headers: Headers): void {
    for (const line of headers.getSetCookie?.() ?? []) {
      const [pair = '', ...attributes] = line.split(/;\s*/)
      const path = attributes.find(one => /^path=/i.test(one))?.slice(5) || '/'
      const name = `${pair.split('=', 1)[0]} ${path}`
      if (attributes.some(one => /^max-age=(0|-.*)$/i.test(one))) this.#kept.delete(name)
      else this.#kept.set(name, { pair, path })
    }
  }

  for(path: string): string {
    return [...this.#kept.values()]
      .filter(one => path === one.path || path.startsWith(one.path.replace(/\/?$/, '/')))
      .map(one => one.pair)
      .join('; ')
  }
}
