import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import { maxQueryBody } from './given.ts'

/**
 * Registers an address for queries by GET and by POST (Q15). These are two routes, so that metrics tell them
 * apart (D5).
 */
export function queryRoute(
  app: FastifyInstance,
  url: string,
  contractFor: (method: 'GET' | 'POST') => RouteShorthandOptions,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  for (const method of ['GET', 'POST'] as const)
    app.route({ method, url, ...contractFor(method), bodyLimit: maxQueryBody, handler })
}
