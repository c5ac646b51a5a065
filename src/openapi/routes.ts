import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { prefixInUse } from '../http/addresses.ts'
import { contractsIn, type DescribedRoute } from '../http/contract.ts'
import { escapeHtml } from '../http/html-page.ts'
import { precondition } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import type { Entities } from '../storage/entities.ts'
import { entityParts } from './entity-paths.ts'
import { joined, type Pieces, piecesOf } from './pieces.ts'
import type { Surroundings } from './rules.ts'
import { page, pageFile, policy } from './swagger-ui.ts'

interface Parts {
  readonly config: Surroundings & { readonly basePath: string }
  readonly entities: Pick<Entities, 'all'>
  /** All that the service has; the list is complete when the first request arrives. */
  readonly routes: readonly DescribedRoute[]
}

const route = contractsIn(() => import('./contracts.ts'))
const asIs = (body: string) => body

/** `GET /api/openapi.json`: every route as OpenAPI describes it, and `GET /api/docs`, a page of it (docs/decisions/0046). */
export function openapiRoutes(app: FastifyInstance, { config, entities, routes }: Parts): void {
  let made: Promise<Pieces> | undefined
  /** Loaded and made when it is asked for. Of the service, once; of a caller, each time. */
  const make = async () => {
    const { describe } = await import('./document.ts')
    return piecesOf(await describe(routes, config))
  }
  const pieces = () => {
    made ??= make().catch(error => {
      // The next request tries it once more.
      made = undefined
      throw error
    })
    return made
  }

  app.get('/openapi.json', route('showOpenApi'), async (request, reply) => {
    const { etag, body } = joined(await pieces(), entityParts(await entities.all(), request.caller, config))
    reply.header('etag', etag).header('cache-control', 'private, no-cache')
    if (precondition(request.headers, etag) === 304) return reply.code(304).send()
    return reply.type('application/json').serializer(asIs).send(body())
  })

  app.get('/docs', route('showReference'), async (request, reply) =>
    reply
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send(page(escapeHtml(prefixInUse(config.basePath, request.originalUrl)))),
  )
  app.get<{ Params: { file: string } }>('/docs/:file', route('showReferenceFile'), async (request, reply) => {
    const found = await pageFile(request.params.file, config.csrfHeader)
    if (!found) throw new Problem('not-found', 'The reference page has no such file.')
    const etag = `"${hash('sha256', found.content, 'base64url')}"`
    reply.header('etag', etag).header('cache-control', 'public, max-age=3600')
    if (precondition(request.headers, etag) === 304) return reply.code(304).send()
    return reply.type(found.type).send(found.content)
  })
}
