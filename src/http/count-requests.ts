import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Measures, RouteMeasures } from '../model/measures.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    measures?: () => RouteMeasures
  }
}

/**
 * Counts requests by the pattern of their route (D5). Not by the framework's `onResponse`, which costs several times as
 * much and says nothing of a client that has left.
 * @returns to be called when a request begins
 */
export function countRequests(
  app: FastifyInstance,
  measures: Measures,
): (request: FastifyRequest, reply: FastifyReply) => void {
  app.addHook('onRoute', route => {
    route.config = { ...route.config, measures: measures.route(route.url, String(route.method)) }
  })
  return (request, reply) => {
    const { raw } = reply
    const { open, duration, answered } =
      request.routeOptions.config?.measures?.() ?? measures.unrouted(request.method)
    const begin = performance.now()
    open.change(1)
    raw.on('close', () => {
      open.change(-1)
      duration.observe((performance.now() - begin) / 1000)
      const status = raw.headersSent ? raw.statusCode : 0
      answered[Math.floor(status / 100)]?.add()
    })
  }
}
