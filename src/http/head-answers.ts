import type { FastifyInstance } from 'fastify'

/**
 * The framework's HEAD routes send `Content-Length: 0` where GET sends no content. A 204 must not have the header, and in
 * a 304 it would be the length of the 200 (RFC 9110 §8.6).
 */
export function emptyHeads(app: FastifyInstance): void {
  app.addHook('onRoute', route => {
    if (route.method !== 'HEAD') return
    // After the framework's own hook, which sets the header.
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (_request, reply, payload, done) => {
        if (reply.statusCode === 204 || reply.statusCode === 304) reply.removeHeader('content-length')
        done(null, payload)
      },
    ]
  })
}
