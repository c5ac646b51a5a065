import type { Count, Gauge, Histogram, Places, QueueMeasures, Tally } from '../lib/tally.ts'
import type { LoginMethod } from './accounts.ts'
import { factorMethods, type SecondFactorSetting } from './factors.ts'

/**
 * Counters and histograms for `GET /metrics` (D5, docs/decisions/0026). No label comes from a request: the
 * set of series is fixed from the start, whatever clients send.
 */
export interface Measures {
  /**
   * Registers a route of the service.
   * @param url its pattern, such as `/api/core/items/:uuid`
   * @returns a function that gives the route's measures, called for each of its requests
   */
  route(url: string, method: string): () => RouteMeasures
  /** Measures of requests that match no route. */
  unrouted(method: string): RouteMeasures
  loginSucceeded(method: LoginMethod): void
  loginFailed(method: LoginMethod): void
  /** Counts a login or a change of password refused with 429 before the password was checked (L8). */
  loginThrottled(method: LoginMethod): void
  tokenRefused(kind: RefusedKind, reason: RefusalReason): void
  queue(name: Queue): QueueMeasures
  readonly connections: ConnectionMeasures
  /** Counts a request to a bucket that has ended. */
  bucketRequest(operation: BucketOperation, outcome: Outcome): void
}

export interface ConnectionMeasures {
  readonly open: Gauge
  readonly max: Gauge
  /** Connections that were refused, or ended for another, because too many were open. */
  readonly refused: Count
  readonly ended: Count
}

const bucketOperations = ['read', 'write', 'list', 'delete'] as const
export type BucketOperation = (typeof bucketOperations)[number]
type Outcome = 'success' | 'failure'

type RefusedKind = 'login' | 'short-lived' | 'lease' | 'access'

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
 * Reasons for refusing a token. `no-eperson`: its eperson was deleted or disabled. `signature`: it
 * was forged, or made before a logout or a change of the secret, or is of another kind; the service
 * can't tell these apart. `ended`: its session was ended individually. `alert`: the system-wide alert
 * lets in administrators only.
 * `network` and `scope` apply to access tokens only. An unknown or revoked access token is `signature`.
 */
export type RefusalReason = (typeof refusalReasons)[number]

/** Queues in which requests wait for their turn. */
export type Queue =
  | 'passwords'
  /** Logins at the LDAP directory. */
  | 'directory'
  /** Statements and sorts that may take long. */
  | 'pages'
  /** Long listings, limited by the places of a node (`CARREL_LISTINGS`). */
  | 'listings'
  /** Long listings, limited by connections to PostgreSQL. */
  | 'listing connections'
  /** Long queries, which are read and checked in a thread. */
  | 'long texts'
  /** Queries with large bodies, from their arrival until they are answered. */
  | 'large bodies'
  /** SAML messages, whose signatures are checked in a thread. */
  | 'saml messages'

export interface RouteMeasures {
  /** Requests that have begun and not ended. */
  readonly open: Gauge
  readonly duration: Histogram
  /**
   * Counts by the hundreds digit of the status: `answered[2]` counts 200 to 299. `answered[0]` counts
   * requests whose client left before the status was sent.
   */
  readonly answered: readonly Count[]
}

const statusClasses = ['none', '1xx', '2xx', '3xx', '4xx', '5xx']
/** Methods counted by name for requests that match no route; any other method is `other`. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

interface Ways {
  /** The enabled methods. */
  readonly loginMethods: readonly LoginMethod[]
  readonly secondFactor: SecondFactorSetting
}

export const createMeasures = (tally: Tally, ways: Ways): Measures => ({
  ...loginMeasures(tally, ways),
  ...tokenMeasures(tally),
  ...queueMeasures(tally),
  connections: connectionMeasures(tally),
  ...bucketMeasures(tally),
  ...routeMeasures(tally),
})

type Part<Name extends keyof Measures> = Pick<Measures, Name>

function loginMeasures(
  tally: Tally,
  { loginMethods, secondFactor }: Ways,
): Part<'loginSucceeded' | 'loginFailed' | 'loginThrottled'> {
  const logins = tally.counter('carrel_logins_total', 'Logins by method and outcome, as in the audit trail.')
  const throttled = tally.counter(
    'carrel_logins_throttled_total',
    'Logins and changes of password that were refused with 429.',
  )
  const byMethod = new Map(
    [...loginMethods, ...factorMethods(secondFactor)].map(method => [
      method,
      {
        success: logins.with({ method, outcome: 'success' }),
        failure: logins.with({ method, outcome: 'failure' }),
        throttled: throttled.with({ method }),
      },
    ]),
  )
  return {
    loginSucceeded: method => byMethod.get(method)?.success.add(),
    loginFailed: method => byMethod.get(method)?.failure.add(),
    loginThrottled: method => byMethod.get(method)?.throttled.add(),
  }
}

function tokenMeasures(tally: Tally): Part<'tokenRefused'> {
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
  return { tokenRefused: (kind, reason) => refused[kind][reason].add() }
}

function queueMeasures(tally: Tally): Part<'queue'> {
  const running = tally.gauge('carrel_queue_running', 'Tasks running now.')
  const waiting = tally.gauge('carrel_queue_waiting', 'Tasks waiting.')
  const waited = tally.histogram('carrel_queue_wait_seconds', 'How long tasks waited until they began.')
  const refused = tally.counter(
    'carrel_queue_refused_total',
    'Tasks refused because the queue was full or their turn did not come in time.',
  )
  return {
    queue: queue => ({
      running: running.with({ queue }),
      waiting: waiting.with({ queue }),
      waited: waited.with({ queue }),
      refused: refused.with({ queue }),
    }),
  }
}

function connectionMeasures(tally: Tally): ConnectionMeasures {
  const limited = tally.counter(
    'carrel_connections_limited_total',
    'Connections that were refused, or ended for another, because too many were open.',
  )
  return {
    open: tally.gauge('carrel_connections_open', 'Connections of clients.').with({}),
    max: tally.gauge('carrel_connections_max', 'How many connections of clients there may be.').with({}),
    refused: limited.with({ outcome: 'refused' }),
    ended: limited.with({ outcome: 'ended' }),
  }
}

function bucketMeasures(tally: Tally): Part<'bucketRequest'> {
  const requests = tally.counter(
    'carrel_bucket_requests_total',
    'Requests to the bucket of files, each with its repetitions.',
  )
  const byOperation = new Map(
    bucketOperations.map(operation => [
      operation,
      {
        success: requests.with({ operation, outcome: 'success' }, false),
        failure: requests.with({ operation, outcome: 'failure' }, false),
      },
    ]),
  )
  return { bucketRequest: (operation, outcome) => byOperation.get(operation)?.[outcome].add() }
}

function routeMeasures(tally: Tally): Part<'route' | 'unrouted'> {
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
    // These series are left out while they are 0. Otherwise Prometheus would store thousands of zeros.
    open: open.with({ route, method }, false, places),
    duration: durations.with({ route, method }, false, places),
    answered: statusClasses.map(status => requests.with({ route, method, status }, false, places)),
  })
  const other = measuresOf('other', 'other')
  const unrouted = new Map(methods.map(method => [method, measuresOf('other', method)]))
  return {
    // Routes beyond the room of the tally, such as those of very many identity
    // providers, are counted together.
    route: (url, method) =>
      tally.hasRoom(statusClasses.length)
        ? tally.postpone(statusClasses.length, places => measuresOf(url, method, places))
        : () => other,
    unrouted: method => unrouted.get(method) ?? other,
  }
}
