import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { contractsIn, type DescribedRoute } from '../http/contract.ts'
import { precondition } from '../http/preconditions.ts'
import type { Surroundings } from './rules.ts'

interface Parts {
  readonly config: Surroundings
  /** All that the service has; the list is complete when the first request arrives. */
  readonly routes: readonly DescribedRoute[]
}

const route = contractsIn(() => import('./contracts.ts'))

/** `GET /api/openapi.json`: every route as OpenAPI describes it (docs/decisions/0046). */
export function openapiRoutes(app: FastifyInstance, { config, routes }: Parts): void {
  let made: Promise<{ readonly body: string; readonly etag: string }> | undefined
  const make = async () => {
    const { describe } = await import('./document.ts')
    const body = JSON.stringify(await describe(routes, config))
    return { body, etag: `"${hash('sha256', body, 'base64url')}"` }
  }

  app.get('/openapi.json', route('showOpenApi'), async (request, reply) => {
    made ??= make()
    const { body, etag } = await made
    reply.header('etag', etag).header('cache-control', 'private, no-cache')
    if (precondition(request.headers, etag) === 304) return reply.code(304).send()
    return reply.type('application/json').serializer(asIs).send(body)
  })
}

const asIs = (body: string) => body
