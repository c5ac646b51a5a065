import type { Config } from '../config/config.ts'
import { needsCsrf, needsLogin, takesNoShortLived } from '../http/access.ts'
import { isMetrics } from '../http/addresses.ts'
import type { Contract, DescribedRoute } from '../http/contract.ts'
import { type ProblemCode, problems } from '../http/problems.ts'

/** Rules that apply to many routes: problems and headers besides those in their contracts. */
export type Surroundings = Pick<Config, 'baseUrl' | 'csrfCookie' | 'csrfHeader' | 'queryBase'>

const isBelow = (url: string, beginning: string) => url === beginning || url.startsWith(`${beginning}/`)
const isQuery = (url: string, { queryBase }: Pick<Config, 'queryBase'>) => isBelow(url, queryBase)

export const issuesCsrf = (route: DescribedRoute, surroundings: Surroundings): boolean =>
  ['GET', 'HEAD', 'OPTIONS'].includes(route.method) &&
  (isQuery(route.url, surroundings) || route.url.startsWith('/api'))

const everywhere: readonly ProblemCode[] = [
  'bad-request',
  'request-timeout',
  'expectation-failed',
  'host-not-allowed',
  'headers-too-large',
  'internal-error',
]
const ofCallers: readonly ProblemCode[] = [
  'bad-on-behalf-of',
  'reason-required',
  'on-behalf-of-refused',
  'access-token-refused',
  'busy',
  'store-unavailable',
]
const ofCsrf: readonly ProblemCode[] = [
  'csrf-cookie-missing',
  'csrf-header-missing',
  'csrf-mismatch',
  'csrf-not-ours',
]

/** The codes of all problems that a route may answer with, in the order of the rules. */
export function problemsOf(
  route: DescribedRoute,
  { needs, problems: own = [], query = {} }: Contract,
): ReadonlySet<ProblemCode> {
  return new Set<ProblemCode>([
    ...own,
    ...(takesNoShortLived(route.access) ? (['short-lived-token-refused'] as const) : []),
    ...('page' in query ? (['bad-parameter'] as const) : []),
    ...(needs === undefined ? [] : (['not-found'] as const)),
    ...(needsLogin(route.access) ? (['authentication-required'] as const) : []),
    ...(needsLogin(route.access) || own.includes('access-denied')
      ? (['second-factor-required', 'second-factor-enrolment-required'] as const)
      : []),
    ...(route.access.who === 'administrator' ? (['access-denied'] as const) : []),
    ...everywhere,
    ...(isMetrics(route.url) || route.isProviderMessage ? [] : (['origin-not-allowed'] as const)),
    ...(needsCsrf(route.access) ? ofCsrf : []),
    ...(route.takesBody ? (['body-too-large', 'unsupported-media-type'] as const) : []),
    ...(route.knowsCaller ? ofCallers : []),
    ...(route.embeds ? (['bad-parameter'] as const) : []),
  ])
}

/** Headers that any answer may have; the names are in lower case. */
export const headersOfAll: Readonly<Record<string, string>> = {
  'access-control-allow-credentials': 'For pages of an allowed origin.',
  'access-control-allow-origin': 'For pages of an allowed origin.',
  'access-control-expose-headers': 'For pages of an allowed origin.',
  'cache-control': '`private, no-store`, unless the operation says otherwise.',
  connection: 'RFC 9112 §9.6.',
  'content-length': 'Bytes of the body.',
  'content-security-policy': 'Forbids everything but what a page needs.',
  'content-type': 'Of the body.',
  date: 'RFC 9110 §6.6.1.',
  'keep-alive': 'How long the connection stays open, in seconds.',
  'referrer-policy': '`no-referrer`: an address may hold a short-lived token.',
  'strict-transport-security': 'Where the service is reached by HTTPS.',
  trailer: 'RFC 9110 §6.6.2.',
  'transfer-encoding': 'RFC 9112 §6.1.',
  vary: '`Origin`, and what else the answer depends on.',
  'x-content-type-options': '`nosniff`.',
  'x-frame-options': '`DENY`.',
  'x-request-id':
    'The id of the request: the `X-Request-Id` that it was sent with, else the trace id of its `traceparent`, else a new one. The log and the audit trail have it, too.',
}

/** Headers that come with some problems, by their code. */
const headersOfCode: Readonly<Partial<Record<ProblemCode, readonly string[]>>> = {
  'method-not-allowed': ['Allow'],
  'precondition-failed': ['ETag'],
  'range-not-satisfiable': ['Content-Range', 'ETag'],
  'tus-version': ['Tus-Version'],
  'unsupported-media-type': ['Accept-Patch'],
  'upload-in-use': ['Retry-After'],
  // A failed login clears its cookie.
  'account-refused': ['Set-Cookie'],
  'sign-on-not-begun': ['Set-Cookie'],
  'redirect-not-allowed': ['Set-Cookie'],
  'sign-on-refused': ['Set-Cookie'],
  'provider-unavailable': ['Set-Cookie'],
  ...Object.fromEntries(ofCsrf.map(code => [code, ['DSPACE-XSRF-TOKEN', 'Set-Cookie']])),
}

/** Headers of the problems of one status. */
export const headersOfProblems = (codes: readonly ProblemCode[]): ReadonlySet<string> =>
  new Set(
    codes.flatMap(code => {
      const { status } = problems[code]
      return [
        // A failed login clears its cookie.
        ...(status === 401 ? ['WWW-Authenticate', 'Set-Cookie'] : []),
        ...(status === 429 || status === 503 ? ['Retry-After'] : []),
        ...(headersOfCode[code] ?? []),
      ]
    }),
  )
