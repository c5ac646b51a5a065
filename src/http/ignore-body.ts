import type { FastifyRequest } from 'fastify'

/**
 * A hook for endpoints that answer whatever body comes along, of any type and well-formed or not (O1): to the framework
 * the request then has none. Node reads on and drops what is there.
 */
export async function ignoreBody(request: FastifyRequest): Promise<void> {
  for (const name of ['content-type', 'content-length', 'transfer-encoding']) delete request.raw.headers[name]
}
