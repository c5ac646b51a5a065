import type { FastifyInstance } from 'fastify'

/**
 * The framework's HEAD routes say `Content-Length: 0` where GET sends no content. At 204 none may be sent, and at 304 it
 * would be the length of a 200 (RFC 9110 §8.6).
 */
export function emptyHeads(app: FastifyInstance): void {
  app.addHook('onRoute', route => {
    if (route.method !== 'HEAD') return
    // Behind the framework's own, which says it.
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (_request, reply, payload, done) => {
        if (reply.statusCode === 204 || reply.statusCode === 304) reply.removeHeader('content-length')
        done(null, payload)
      },
    ]
  })
}
