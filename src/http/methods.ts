import type { FastifyInstance, HTTPMethods } from 'fastify'
import { Problem } from '../problems.ts'

/** TRACE and CONNECT never reach a route. */
const every: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Answers every other method at this address with 405 and `Allow` (RFC 9110 §15.5.6). */
export function allowOnly(app: FastifyInstance, url: string, allowed: readonly HTTPMethods[]): void {
  const allow = allowed.join(', ')
  app.route({
    url,
    method: every.filter(method => !allowed.includes(method)),
    exposeHeadRoute: false,
    handler: request => {
      throw new Problem('method-not-allowed', `${request.method} is not allowed here; allowed: ${allow}.`, {
        headers: { allow },
      })
    },
  })
}
