import type { FastifyRequest } from 'fastify'

/**
 * A hook for endpoints that ignore the body, whatever its type and form (O1): it makes the framework see no
 * body. Node reads and discards it.
 */
export async function ignoreBody(request: FastifyRequest): Promise<void> {
  for (const name of ['content-type', 'content-length', 'transfer-encoding']) delete request.raw.headers[name]
}
