import type { TokenStorage } from './storage.ts'
import type { Retries } from './transport.ts'

/** Options of a client. */
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
  /** The function that makes requests; uploads make theirs by other means, to count what is sent. */
  readonly fetch?: typeof fetch
  /** Called before each request, also of uploads. Nothing is sent until what it returns is done, or if it throws. */
  readonly beforeRequest?: (() => unknown) | undefined
  /**
   * true reads integers beyond Number.MAX_SAFE_INTEGER as BigInt, with all their digits. Otherwise they are
   * rounded to the nearest number. This needs an engine with JSON.rawJSON: Node 22, or a browser of 2025 or
   * later.
   */
  readonly bigint?: boolean
}
