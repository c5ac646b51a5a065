import { createRequire } from 'node:module'
import type * as ajvModule from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import type { DescribedRoute } from '../../../src/http/contract.ts'
import type { ProblemCode } from '../../../src/http/problems.ts'
import { describe, type OpenApi } from '../../../src/openapi/document.ts'
import { headersOfAll, headersOfProblems, issuesCsrf, type Surroundings } from '../../../src/openapi/rules.ts'
import type { Answered } from './record-answers.ts'

/** Problems of an address that no route takes, and of a method that an address doesn't have. */
const unrouted: readonly ProblemCode[] = [
  'bad-request',
  'request-timeout',
  'expectation-failed',
  'host-not-allowed',
  'headers-too-large',
  'internal-error',
  'csrf-cookie-missing',
  'csrf-header-missing',
  'csrf-mismatch',
  'csrf-not-ours',
  'origin-not-allowed',
  'not-found',
  'method-not-allowed',
]

/** Headers that some routes send with every answer, problems included; the names are in lower case. */
const headersEverywhereAt = (route: DescribedRoute, surroundings: Surroundings): ReadonlySet<string> =>
  new Set([
    ...Object.keys(headersOfAll),
    ...(issuesCsrf(route, surroundings) ? [surroundings.csrfHeader.toLowerCase(), 'set-cookie'] : []),
    ...(route.knowsCaller ? ['x-acting-as'] : []),
    ...(/^\/api\/uploads(\/|$)/.test(route.url) ? ['tus-resumable'] : []),
    ...(/^\/console(\/|$)/.test(route.url) ? ['cross-origin-opener-policy'] : []),
  ])

/** Compares answers with the OpenAPI document of their service. */
export interface Comparison {
  /** @returns the differences; empty if the answer is as documented */
  faultsOf(answered: Answered): readonly string[]
}

type Documented = OpenApi['paths'][string][string]
type Response = {
  readonly $ref?: string
  readonly headers?: Readonly<Record<string, { readonly required?: boolean }>>
  readonly content?: Readonly<Record<string, unknown>>
  readonly 'x-other-content'?: Readonly<Record<string, unknown>>
}

/** Comparisons made in this process, which are shared because many services have the same routes. */
const known = new Map<string, Promise<Comparison>>()

export function comparisonWith(
  routes: readonly DescribedRoute[],
  { baseUrl, csrfCookie, csrfHeader, queryBase }: Surroundings,
): Promise<Comparison> {
  const surroundings = { baseUrl, csrfCookie, csrfHeader, queryBase }
  // The address of the service is not part of the key, because answers don't depend on it.
  const key = JSON.stringify([
    csrfCookie,
    csrfHeader,
    queryBase,
    routes.map(({ method, url }) => [method, url]),
  ])
  const made =
    known.get(key) ??
    describe(routes, surroundings).then(({ document }) => compare(document, routes, surroundings))
  known.set(key, made)
  return made
}

const formats: Readonly<Record<string, RegExp>> = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'date-time': /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  email: /^[^@\s]+@[^@\s]+$/,
  uri: /^[a-z][a-z0-9+.-]*:\S*$/i,
  'uri-reference': /^\S*$/,
}

/** Returns the place of a part of the document as a reference (RFC 6901). */
const refTo = (...path: readonly string[]) =>
  `openapi#/${path.map(part => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`

export function compare(
  document: OpenApi,
  routes: readonly DescribedRoute[],
  surroundings: Surroundings,
): Comparison {
  const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js') as typeof ajvModule
  const ajv = new Ajv2020({ strict: false, allErrors: true, inlineRefs: false })
  for (const [name, pattern] of Object.entries(formats)) ajv.addFormat(name, pattern)
  ajv.addSchema({ ...document, $id: 'openapi' }, 'openapi')
  const compiled = new Map<string, ValidateFunction>()
  const check = (ref: string, value: unknown): string[] => {
    const validate = compiled.get(ref) ?? ajv.compile({ $ref: ref })
    compiled.set(ref, validate)
    if (validate(value)) return []
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${instancePath || 'the body'} ${message} ${JSON.stringify(params)}`,
    )
  }
  const always = new Set([
    ...Object.keys(headersOfAll),
    surroundings.csrfHeader.toLowerCase(),
    'set-cookie',
    'x-acting-as',
  ])
  function faultsOf(answered: Answered): readonly string[] {
    if (answered.isPreflight && answered.status === 204) return extra(answered, always, ofPreflight)
    const possible = routes.filter(
      ({ method, pattern }) =>
        pattern.replace(/(?<=.)\/$/, '') === answered.route?.replace(/(?<=.)\/$/, '') &&
        (method === answered.method || (method === 'GET' && answered.method === 'HEAD')),
    )
    // Several routes are possible only for a pattern with a wildcard.
    const route = possible.find(({ url }) => isAt(url, answered.path)) ?? possible.at(-1)
    if (!route) return unroutedFaults(answered)
    if (!route.contract) return [`${route.method} ${route.url} has no contract`]
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    const operation = document.paths[path]?.[route.method.toLowerCase()]
    if (!operation) return [`${route.method} ${path} is not in the document`]
    return operationFaults(answered, route, operation, ['paths', path, route.method.toLowerCase()])
  }

  function unroutedFaults(answered: Answered): readonly string[] {
    const type = mediaType(answered)
    // A page for a person who follows an address of which there is nothing.
    if (type === 'text/html' && answered.status === 404 && answered.method === 'GET') return []
    if (type !== 'application/problem+json' || answered.status < 400)
      return [`no route takes it, and the answer is ${answered.status} ${type}`]
    if (answered.body === undefined || answered.method === 'HEAD') return []
    const problem = parsed(answered.body)
    const code = (problem as { readonly code?: string } | undefined)?.code ?? ''
    return [
      ...(unrouted.some(one => one === code) ? [] : [`no route takes it, and the problem is ${code}`]),
      ...check(refTo('components', 'schemas', 'Problem'), problem),
      ...extra(
        answered,
        always,
        [...headersOfProblems(unrouted)].map(one => one.toLowerCase()),
      ),
    ]
  }

  function operationFaults(
    answered: Answered,
    route: DescribedRoute,
    operation: Documented,
    at: readonly string[],
  ): readonly string[] {
    const status = String(answered.status)
    const given = operation.responses[status] as Response | undefined
    if (!given) return [`${operation.operationId} has no status ${status}: ${answered.body?.slice(0, 300)}`]
    const name = given.$ref?.split('/').at(-1)
    const where = name === undefined ? [...at, 'responses', status] : ['components', 'responses', name]
    const response =
      name === undefined ? given : ((document.components.responses as Record<string, Response>)[name] ?? {})
    const headers = response.headers ?? {}
    const missing = Object.keys(headers).filter(
      one => headers[one]?.required && answered.headers[one.toLowerCase()] === undefined,
    )
    const faults = [
      ...missing.map(one => `the header ${one} is missing`),
      ...extra(
        answered,
        headersEverywhereAt(route, surroundings),
        Object.keys(headers).map(one => one.toLowerCase()),
      ),
    ]
    return [...faults, ...bodyFaults(answered, response, where)]
  }

  function bodyFaults(
    answered: Answered,
    { content: first = {}, 'x-other-content': others = {} }: Response,
    at: readonly string[],
  ): readonly string[] {
    const { body } = answered
    const content = { ...first, ...others }
    const type = mediaType(answered)
    if (Object.keys(content).length === 0)
      return body ? [`there is a body, which is not documented: ${body.slice(0, 200)}`] : []
    if (answered.status === 304) return []
    const key = Object.keys(content).find(one => one === type || one === '*/*')
    if (key === undefined)
      return [`the media type ${type} is not documented, only ${Object.keys(content).join(', ')}`]
    if (body === undefined || answered.method === 'HEAD') return []
    if (!/[/+]json$/.test(key)) return []
    const value = parsed(body)
    if (value === undefined) return [`the body is not JSON: ${body.slice(0, 200)}`]
    return check(refTo(...at, key in first ? 'content' : 'x-other-content', key, 'schema'), value)
  }

  return { faultsOf }
}

const ofPreflight = ['access-control-allow-methods', 'access-control-allow-headers', 'access-control-max-age']

const extra = (
  { headers }: Answered,
  always: ReadonlySet<string>,
  more: readonly string[],
): readonly string[] =>
  Object.keys(headers)
    .filter(name => !always.has(name) && !more.includes(name))
    .map(name => `the header ${name} is not documented`)

const isAt = (url: string, path: string) =>
  new RegExp(`^${url.replaceAll(/[.+?^$(){}|[\]\\]/g, '\\$&').replaceAll(/:\w+/g, '[^/]+')}/?$`).test(path)

const mediaType = ({ headers }: Answered) =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase()

function parsed(body: string): unknown {
  try {
    return JSON.parse(Buffer.from(body, 'latin1').toString())
  } catch {
    return undefined
  }
}
