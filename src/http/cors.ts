import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { quote } from './parameters.ts'
import { Problem } from './problems.ts'

/**
 * Cross-origin requests (W1, https://fetch.spec.whatwg.org/#http-cors-protocol) are allowed for an exact list
 * of origins.
 */
type Settings = Pick<Config, 'allowedOrigins' | 'baseUrl' | 'csrfHeader'>

const allowedHeaders = [
  'Authorization',
  'Content-Type',
  'X-XSRF-TOKEN',
  'X-On-Behalf-Of',
  'X-On-Behalf-Of-Reason',
  'X-Requested-With',
  'X-Referrer',
  'X-Correlation-Id',
  'X-Request-Id',
  'traceparent',
  'Accept-Language',
  'Range',
  'If-Match',
  'If-Range',
  'If-None-Match',
  'Last-Event-ID',
  'Tus-Resumable',
  'Upload-Defer-Length',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Offset',
].join(', ')

/** Seconds for which a browser may cache a preflight. */
const remember = '600'

/**
 * @returns a hook for every request that answers preflights itself
 * @throws Problem (from the hook) if the origin is not on the list
 */
export function createCors(config: Settings) {
  // Pages of the service's own origin send Origin with POST and PATCH, too.
  const allowed = new Set([...config.allowedOrigins, new URL(config.baseUrl).origin])
  const exposed = [
    'Authorization',
    config.csrfHeader,
    'WWW-Authenticate',
    'X-Records',
    'X-Snapshot',
    'Link',
    'Location',
    // Tells clients when to try again.
    'Retry-After',
    'X-Acting-As',
    'X-Request-Id',
    'X-Name-Changed',
    // Needed to read a file in ranges, and to name it.
    'Accept-Ranges',
    'Content-Disposition',
    'Content-Range',
    'ETag',
    // Uploads (https://tus.io/protocols/resumable-upload).
    'Tus-Extension',
    'Tus-Max-Size',
    'Tus-Resumable',
    'Tus-Version',
    'Upload-Expires',
    'Upload-Length',
    'Upload-Metadata',
    'Upload-Offset',
  ].join(', ')

  return (request: FastifyRequest, reply: FastifyReply): 'answered' | 'go on' => {
    const { origin } = request.headers
    reply.header('vary', 'Origin')
    if (origin === undefined) return 'go on'
    if (!allowed.has(origin))
      throw new Problem(
        'origin-not-allowed',
        `Pages of the origin ${quote(origin)} may not call this service: the origin is not in CARREL_ALLOWED_ORIGINS.`,
      )
    reply.header('access-control-allow-origin', origin)
    reply.header('access-control-allow-credentials', 'true')
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      reply.header('access-control-expose-headers', exposed)
      return 'go on'
    }
    reply
      .code(204)
      .header('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
      .header('access-control-allow-headers', allowedHeaders)
      .header('access-control-max-age', remember)
      .send()
    return 'answered'
  }
}
