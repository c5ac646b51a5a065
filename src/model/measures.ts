import type { Count, Gauge, Histogram, Places, QueueMeasures, Tally } from '../lib/tally.ts'
import type { LoginMethod } from './accounts.ts'

/**
 * What the parts of the service count for `GET /metrics` (D5, docs/decisions/0026). No label comes from a request: all
 * series exist from the start, whatever clients send.
 */
export interface Measures {
  /**
   * A route of the service.
   * @param url its pattern, such as `/api/core/items/:uuid`
   * @returns to be called when it is asked for
   */
  route(url: string, method: string): () => RouteMeasures
  /** What no route takes. */
  unrouted(method: string): RouteMeasures
  loginSucceeded(method: LoginMethod): void
  loginFailed(method: LoginMethod): void
  /** A login or a change of password that was refused with 429, without a look at the password (L8). */
  loginThrottled(method: LoginMethod): void
  tokenRefused(kind: RefusedKind, reason: RefusalReason): void
  queue(name: Queue): QueueMeasures
}

export type RefusedKind = 'login' | 'short-lived' | 'lease' | 'access'

const refusalReasons = [
  'malformed',
  'expired',
  'no-eperson',
  'signature',
  'ended',
  'alert',
  'network',
  'scope',
] as const
/**
 * Why a token was refused. `no-eperson`: they were deleted or disabled. `signature`: it was forged, or made before a logout
 * or a change of the secret, or is of another kind; the service can't tell. `ended`: its session was ended by itself.
 * `alert`: the system-wide alert is for administrators only.
 * `network` and `scope` are of access tokens, of which an unknown or revoked one is `signature`.
 */
export type RefusalReason = (typeof refusalReasons)[number]

/** Where requests wait for their turn. */
export type Queue =
  | 'passwords'
  /** Logins at the LDAP directory. */
  | 'directory'
  /** Statements and sorts that may take long. */
  | 'pages'
  /** Long listings, by the places of a node (`CARREL_LISTINGS`). */
  | 'listings'
  /** The same, by connections to PostgreSQL. */
  | 'listing connections'
  /** Of queries: they are read and checked in a thread. */
  | 'long texts'
  /** Of queries, until they are answered. */
  | 'large bodies'
  /** Of SAML: their signatures are checked in a thread. */
  | 'saml messages'

export interface RouteMeasures {
  /** Requests that have begun and not ended. */
  readonly open: Gauge
  readonly duration: Histogram
  /** By the hundreds of the status: `answered[2]` counts 200 to 299. `answered[0]`: the client left before the status. */
  readonly answered: readonly Count[]
}

const statusClasses = ['none', '1xx', '2xx', '3xx', '4xx', '5xx']
/** Of requests that no route takes; any other method is `other`. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** @param loginMethods the enabled ones */
export function createMeasures(tally: Tally, loginMethods: readonly LoginMethod[]): Measures {
  const logins = tally.counter('carrel_logins_total', 'Logins by method and outcome, as in the audit trail.')
  const throttled = tally.counter(
    'carrel_logins_throttled_total',
    'Logins and changes of password that were refused with 429.',
  )
  const byMethod = new Map(
    loginMethods.map(method => [
      method,
      {
        success: logins.with({ method, outcome: 'success' }),
        failure: logins.with({ method, outcome: 'failure' }),
        throttled: throttled.with({ method }),
      },
    ]),
  )

  const tokens = tally.counter('carrel_tokens_refused_total', 'Tokens that were not accepted.')
  const refusedTokens = (kind: RefusedKind) =>
    Object.fromEntries(refusalReasons.map(reason => [reason, tokens.with({ kind, reason })])) as Readonly<
      Record<RefusalReason, Count>
    >
  const refused: Readonly<Record<RefusedKind, Readonly<Record<RefusalReason, Count>>>> = {
    login: refusedTokens('login'),
    'short-lived': refusedTokens('short-lived'),
    lease: refusedTokens('lease'),
    access: refusedTokens('access'),
  }

  const running = tally.gauge('carrel_queue_running', 'Tasks running now.')
  const waiting = tally.gauge('carrel_queue_waiting', 'Tasks waiting.')
  const waited = tally.histogram('carrel_queue_wait_seconds', 'How long tasks waited until they began.')
  const full = tally.counter(
    'carrel_queue_refused_total',
    'Tasks refused because the queue was full or their turn did not come in time.',
  )

  const requests = tally.counter(
    'carrel_http_requests_total',
    'Requests by route, method and class of the status; none: the client left before it.',
  )
  const durations = tally.histogram(
    'carrel_http_request_duration_seconds',
    'From the headers of a request to the end of its response.',
  )
  const open = tally.gauge('carrel_http_requests_open', 'Requests that have begun and not ended.')
  const measuresOf = (route: string, method: string, places?: Places): RouteMeasures => ({
    // Otherwise Prometheus would store thousands of series that are always 0.
    open: open.with({ route, method }, false, places),
    duration: durations.with({ route, method }, false, places),
    answered: statusClasses.map(status => requests.with({ route, method, status }, false, places)),
  })
  const other = measuresOf('other', 'other')
  const unrouted = new Map(methods.map(method => [method, measuresOf('other', method)]))

  return {
    // More identity providers than there is room for are counted together.
    route: (url, method) =>
      tally.hasRoom(statusClasses.length)
        ? tally.postpone(statusClasses.length, places => measuresOf(url, method, places))
        : () => other,
    unrouted: method => unrouted.get(method) ?? other,
    loginSucceeded: method => byMethod.get(method)?.success.add(),
    loginFailed: method => byMethod.get(method)?.failure.add(),
    loginThrottled: method => byMethod.get(method)?.throttled.add(),
    tokenRefused: (kind, reason) => refused[kind][reason].add(),
    queue: name => ({
      running: running.with({ queue: name }),
      waiting: waiting.with({ queue: name }),
      waited: waited.with({ queue: name }),
      refused: full.with({ queue: name }),
    }),
  }
}
