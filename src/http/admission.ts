import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { needsCsrf } from './access.ts'
import { isMetrics, metricsPath, pathOf } from './addresses.ts'
import { createCors } from './cors.ts'
import type { Csrf } from './csrf.ts'
import { createHostCheck } from './hosts.ts'
import { refuseMalformed } from './refuse-malformed.ts'

interface Parts {
  readonly config: Config
  readonly csrf: Csrf
  /** Headers that are sent with every response (W2). */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * True for the metrics, which pages in a browser may not read, whatever their origin. The path decides, so
 * this holds for every method.
 */
const isForPrograms = ({ url }: FastifyRequest) => url.startsWith(metricsPath) && isMetrics(pathOf(url))

const changing = new Set(['PUT', 'PATCH', 'DELETE'])

type Admit = (request: FastifyRequest, reply: FastifyReply) => 'answered' | 'go on'

/**
 * Makes the checks that every request passes first, even one that the framework can't route (C5): security
 * headers, the host, CORS, CSRF, and what is malformed at any address.
 * @returns a function that throws a Problem for a request that is refused
 */
export function createAdmission({ config, csrf, headers }: Parts): Admit {
  const requireHost = createHostCheck(config)
  const cors = createCors(config)
  const isQuery = (url: string) =>
    url.startsWith(config.queryBase) && /^[/?#]?$/.test(url.charAt(config.queryBase.length))
  // Puppet servers send commands here. Carrel takes none, so the answer is a plain 404 instead of a CSRF problem (Q24).
  const commands = config.queryBase.replace(/(\/query)?\/v4$/, '/cmd/v1')

  return (request, reply) => {
    reply.headers(headers)
    requireHost(request)
    // A request that no route takes changes nothing, so it gets a 405 like any other method (L1); only a POST
    // still needs a CSRF pair (C5).
    const forPrograms = isForPrograms(request)
    const changes =
      !forPrograms && (request.method === 'POST' || (changing.has(request.method) && !request.is404))
    // A message from an identity provider comes from the provider's origin and has no CSRF pair (docs/decisions/0010).
    const isProviderMessage = changes && request.routeOptions.config?.isProviderMessage === true
    // A page's scripts are requested with its Origin, which isn't the base URL's if the page was opened under
    // another name.
    const isAsset = request.routeOptions.config?.isAsset === true
    if (!isProviderMessage && !forPrograms && !isAsset && cors(request, reply) === 'answered')
      return 'answered'
    const isBelowQueryBase = isQuery(request.url)
    if (changes) {
      const { access } = request.routeOptions.config ?? {}
      // Without a route: no cookie authenticates requests below the query base (C8).
      if (access ? needsCsrf(access) : !isBelowQueryBase && pathOf(request.url) !== commands)
        csrf.require(request, reply)
    } else if ((isBelowQueryBase || request.url.startsWith('/api')) && !csrf.hasCookie(request))
      csrf.issue(request, reply)
    refuseMalformed(request)
    return 'go on'
  }
}
