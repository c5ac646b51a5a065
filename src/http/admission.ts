import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { createCors } from './cors.ts'
import type { Csrf } from './csrf.ts'
import { refuseMalformed } from './refuse-malformed.ts'

interface Parts {
  readonly config: Config
  readonly csrf: Csrf
  /** Sent with every answer (W2). */
  readonly headers: Readonly<Record<string, string>>
}

export type Admit = (request: FastifyRequest, reply: FastifyReply) => 'answered' | 'go on'

/**
 * What comes before everything else on every request, even one that the framework can't route (C5): security headers,
 * CORS, CSRF, and what is malformed on any address.
 * @returns throws a Problem for a request that is refused
 */
export function createAdmission({ config, csrf, headers }: Parts): Admit {
  const cors = createCors(config)
  const isQueryOrApi = (url: string) => url.startsWith('/api') || url.startsWith(config.queryBase)

  return (request, reply) => {
    reply.headers(headers)
    // What an identity provider sends comes from its own origin and has no CSRF pair (docs/decisions/0010).
    // Where nothing takes a PATCH it is a 405 like any other method, and changes nothing (L1).
    const changes = request.method === 'POST' || (request.method === 'PATCH' && !request.is404)
    const isProviderMessage = changes && request.routeOptions.config?.isProviderMessage === true
    if (!isProviderMessage && cors(request, reply) === 'answered') return 'answered'
    if (changes) {
      if (!isProviderMessage) csrf.require(request, reply)
    } else if (isQueryOrApi(request.url) && !csrf.hasCookie(request)) csrf.issue(request, reply)
    refuseMalformed(request)
    return 'go on'
  }
}
