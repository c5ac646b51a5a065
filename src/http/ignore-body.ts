import type { FastifyRequest } from 'fastify'

/**
 * A hook for endpoints that ignore the body, of any type and well-formed or not (O1): to the framework, the request then
 * has none. Node reads and discards it.
 */
export async function ignoreBody(request: FastifyRequest): Promise<void> {
  for (const name of ['content-type', 'content-length', 'transfer-encoding']) delete request.raw.headers[name]
}
